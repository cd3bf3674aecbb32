import MartletLink
import MartletTransport

/// The messages and connections that a relay's loops exchange. Engines exchange messages once a turn.
extension RelayDriver {
    func send(_ messages: [LoopMessage], to loop: Int) {
        guard loop < drivers.count else { return }
        let other = drivers[loop]
        other.loop.execute { other.receive(messages) }
        guard traffic[loop].send(messages.count) else { return }
        // The other loop runs its work in order, so the confirmation covers all earlier messages.
        other.loop.execute { [self] in self.loop.execute { self.confirm(loop) } }
    }

    private func receive(_ messages: [LoopMessage]) {
        engine.receive(messages, now: enter())
    }

    // MARK: - Throttling

    /// Stops reading a connection until the other loops have processed their messages.
    func throttle(_ key: ConnectionKey) {
        guard let connection = acceptor[key], !connection.isThrottled else { return }
        connection.isThrottled = true
        throttled.append(key)
    }

    private func confirm(_ loop: Int) {
        enter()
        guard loop < traffic.count else { return }
        traffic[loop].confirm()
        guard !traffic.contains(where: \.isFull) else { return }
        for key in throttled { acceptor[key]?.isThrottled = false }
        throttled = []
    }

    // MARK: - Connections

    func transfer(_ key: ConnectionKey, to loop: Int) {
        guard let connection = acceptor[key], let peer = peer(key), let transferred = engine.transfer(key) else {
            return
        }
        guard loop < drivers.count, let transport = connection.transport.move(to: drivers[loop].loop) else {
            return connection.transport.abort()
        }
        acceptor.remove(connection)
        let other = drivers[loop]
        other.loop.execute { [admitted = peer.admitted] in other.adopt(transport, transferred, admitted) }
    }

    /// An unstarted transport closes when it is released.
    private func adopt(_ transport: any Transport, _ transferred: TransferredConnection, _ admitted: AdmittedPeer) {
        guard !isClosing, let key = engine.adopt(transferred, now: enter()) else { return }
        start(transport, key, admitted)
    }
}
