import MartletProtocol
import MartletTransport

/// What crosses between a relay's loops: what their engines tell each other, once a turn, and connections.
extension RelayDriver {
    func tell(_ loop: Int, _ messages: [LoopMessage]) {
        guard loop < siblings.count else { return }
        let other = siblings[loop]
        other.loop.execute { other.told(messages) }
        guard traffic[loop].tell(messages.count) else { return }
        // The other loop takes what it is told in order: when it comes to this, it has taken everything before.
        other.loop.execute { [self] in self.loop.execute { self.caughtUp(loop) } }
    }

    private func told(_ messages: [LoopMessage]) {
        engine.receive(messages, now: enter())
    }

    // MARK: Loops that cannot follow

    /// Reads no more of a connection until the other loops have taken what they were told.
    func holdUp(_ key: ConnectionKey) {
        guard let peer = peers[key], !peer.isHeldUp else { return }
        peer.isHeldUp = true
        heldUp.append(key)
    }

    private func caughtUp(_ loop: Int) {
        enter()
        guard loop < traffic.count else { return }
        traffic[loop].caughtUp()
        guard !traffic.contains(where: \.isFull) else { return }
        for key in heldUp { peers[key]?.isHeldUp = false }
        heldUp = []
    }

    // MARK: Connections

    func handOver(_ key: ConnectionKey, to loop: Int) {
        guard let peer = peers[key], let departing = engine.handOver(key) else { return }
        guard loop < siblings.count, let transport = peer.transport.move(to: siblings[loop].loop) else {
            return peer.transport.abort()
        }
        release(peer)
        let other = siblings[loop]
        other.loop.execute { other.takeOver(transport, departing) }
    }

    /// A transport that is dropped unstarted closes.
    private func takeOver(_ transport: any Transport, _ departing: DepartingConnection) {
        guard !isClosing, let key = engine.takeOver(departing, now: enter()) else { return }
        start(transport, key)
    }
}
