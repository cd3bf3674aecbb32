import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

extension VirtualWorld {
    enum Ending {
        /// The other end closed gracefully.
        case finished
        /// The connection broke.
        case reset
    }

    enum Event {
        case established(client: Int, ConnectionID)
        case refused(client: Int, ConnectionID)
        case arrived(Segment, connection: Int, atRelay: Bool)
        case writable(connection: Int, atRelay: Bool)
        case ended(connection: Int, atRelay: Bool, Ending)
        case closeTimeout(connection: Int, atRelay: Bool)
        case credential(client: Int, ConnectionID, Result<Credential?, CredentialFailure>)
        case work(VirtualRelay.Work, generation: Int)
        case call(() -> Void)
    }

    struct CredentialFailure: Error {}

    func schedule(_ event: Event, after delay: Duration) {
        schedule(event, at: now + delay)
    }

    func schedule(_ event: Event, at instant: Instant) {
        eventOfNumber[nextNumber] = event
        // The queue keeps the order of equal times, so causes precede effects.
        events.set(nextNumber, at: max(instant, now))
        nextNumber += 1
    }

    func handle(_ event: Event) {
        switch event {
        case .established(let client, let id):
            establish(clients[client], client, id)
        case .refused(let client, let id):
            clients[client].engine.connectFailed(id, now: now)
            settle(clients[client])
        case .arrived(let segment, let index, let atRelay):
            if !isDelayed(event, on: index, atRelay) { arrive(segment, index, atRelay) }
        case .writable(let index, let atRelay):
            connections[index][pipeFromRelay: atRelay].isWaiting = false
            fill(index, atRelay: atRelay)
            if !atRelay { settle(clients[connections[index].client]) }
        case .ended(let index, let atRelay, let ending):
            if ending == .reset || !isDelayed(event, on: index, atRelay) { endCarrier(index, atRelay, ending) }
        case .closeTimeout(let index, let atRelay):
            finishClose(index, atRelay: atRelay)
        case .credential(let client, let id, let result):
            switch result {
            case .success(let credential): clients[client].engine.credential(credential, for: id, now: now)
            case .failure: clients[client].engine.credentialFailed(id, now: now)
            }
            settle(clients[client])
        case .work(let work, let generation):
            guard generation == self.generation else { return }
            relay.perform(work, now: now)
            settleRelay()
        case .call(let body): body()
        }
    }

    func index(of client: VirtualClient) -> Int? {
        clients.firstIndex { $0 === client }
    }

    func isOpen(_ connection: VirtualConnection, of client: VirtualClient) -> Bool {
        clients[connection.client] === client && (connection.clientSide.isOpen || connection.relaySide.isOpen)
    }

    func delay(of connection: VirtualConnection) -> Duration {
        clients[connection.client].conditions.delay
    }

    // MARK: - Outputs

    func settle(_ client: VirtualClient) {
        guard let index = index(of: client) else { return }
        var outputs = client.drain(now: now)
        while !outputs.isEmpty {
            for output in outputs { perform(output, client, index) }
            outputs = client.drain(now: now)
        }
    }

    private func perform(_ output: ClientOutput, _ client: VirtualClient, _ index: Int) {
        switch output {
        case .connect(let id, _): connect(client, index, id)
        case .startBackup(let id, let current): connectBackup(client, index, id, beside: current)
        case .fetchCredential(let id): fetchCredential(client, index, id)
        case .close(let id, let graceful):
            if attempts[index] == id { attempts[index] = nil }
            if let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) {
                close(connection, atRelay: false, isGraceful: graceful)
            }
        case .transmit(let id):
            guard let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) else { return }
            fill(connection, atRelay: false)
        case .replaceDevice: client.engine.replaceDevice(by: DeviceID(rawValue: random.next() | 1), now: now)
        default: break
        }
    }

    func settleRelay() {
        let (network, work) = relay.drain(now: now)
        for (work, delay) in work { schedule(.work(work, generation: generation), after: delay) }
        for output in network {
            switch output {
            case .transmit(let keys):
                for key in keys { if let index = connection(key) { fill(index, atRelay: true) } }
            case .close(let key, let afterFlush):
                if let index = connection(key) { close(index, atRelay: true, isGraceful: afterFlush) }
            case .pauseReading(let key):
                if let index = connection(key) { connections[index].isPaused = true }
            case .resumeReading(let key):
                guard let index = connection(key) else { continue }
                connections[index].isPaused = false
                readUnread(index)
            default: break
            }
        }
    }

    private func connection(_ key: ConnectionKey) -> Int? {
        connections.lastIndex { $0.generation == generation && $0.key == key }
    }

    private func connect(_ client: VirtualClient, _ index: Int, _ id: ConnectionID) {
        attempts[index] = id
        // A connect takes a round trip. On a blocked path the engine's timeout ends it.
        if client.isReachable { schedule(.established(client: index, id), after: client.conditions.delay * 2) }
    }

    /// The carrier is stalled when the path is blocked.
    private func connectBackup(_ client: VirtualClient, _ index: Int, _ id: ConnectionID, beside current: ConnectionID)
    {
        let connection = connections.last { $0.client == index && $0.id == current }
        if !client.isReachable || connection?.hasNoMapping == true {
            connect(client, index, id)
            fetchCredential(client, index, id)
        } else {
            schedule(.refused(client: index, id), after: .zero)
        }
    }

    private func fetchCredential(_ client: VirtualClient, _ index: Int, _ id: ConnectionID) {
        switch client.credentials {
        case .gives(let credential, .zero):
            client.engine.credential(credential, for: id, now: now)
            settle(client)
        case .gives(let credential, let delay):
            schedule(.credential(client: index, id, .success(credential)), after: delay)
        case .fails(let delay):
            schedule(.credential(client: index, id, .failure(CredentialFailure())), after: delay)
        case .hangs: break
        }
    }

    // MARK: - Connections

    private func establish(_ client: VirtualClient, _ index: Int, _ id: ConnectionID) {
        guard attempts[index] == id, client.isReachable else { return }
        attempts[index] = nil
        guard isRelayUp, let key = relay.engine.accepted(client.carrier, now: now) else {
            return schedule(.refused(client: index, id), after: .zero)
        }
        connectionCount += 1
        connections.append(VirtualConnection(client: index, id: id, key: key, generation: generation))
        guard !startTLS(connections.count - 1) else { return settleRelay() }
        client.engine.connected(id, localAddress: nil, now: now)
        settle(client)
        settleRelay()
    }

    /// Delays an event on a blocked path. A connection without NAT mapping drops it.
    private func isDelayed(_ event: Event, on index: Int, _ atRelay: Bool) -> Bool {
        if connections[index].hasNoMapping { return true }
        switch clients[connections[index].client].blocked {
        case nil: return false
        case .up: guard atRelay else { return false }
        case .down: guard !atRelay else { return false }
        case .both: break
        }
        delayedEvents.append(event)
        return true
    }

    private func arrive(_ segment: Segment, _ index: Int, _ atRelay: Bool) {
        let side = connections[index][atRelay: atRelay]
        guard side.isOpen, !side.isClosing else { return }
        connections[index][atRelay: atRelay].unread.append(segment)
        readUnread(index)
    }

    func readUnread(_ index: Int) {
        while isReading(index, atRelay: false), !connections[index].clientSide.unread.isEmpty {
            let segment = connections[index].clientSide.unread.removeFirst()
            let client = clients[connections[index].client]
            let bytes = decrypted(segment.bytes, index, atRelay: false)
            if !bytes.isEmpty { client.engine.receive(bytes.rawBytes, on: connections[index].id, now: now) }
            noteRead(segment.byteCount, index, atRelay: false)
            settle(client)
            finishReceiving(index, atRelay: false)
        }
        while isReading(index, atRelay: true), !connections[index].relaySide.unread.isEmpty {
            let segment = connections[index].relaySide.unread.removeFirst()
            let bytes = decrypted(segment.bytes, index, atRelay: true)
            let resumes = relay.loops.statistics.resumes
            if !bytes.isEmpty { relay.loops.receive(bytes.rawBytes, on: connections[index].key, now: now) }
            noteRead(segment.byteCount, index, atRelay: true)
            settleRelay()
            noteHello(bytes, index, resumes: resumes)
            finishReceiving(index, atRelay: true)
        }
    }

    /// Keeps the hello of a resumed link, without the early frames behind it.
    private func noteHello(_ bytes: [UInt8], _ index: Int, resumes: UInt64) {
        guard relay.loops.statistics.resumes != resumes, isHandshake(bytes), let hello = frames(bytes).first else {
            return
        }
        usedHellos[connections[index].client] = hello
    }

    private func isReading(_ index: Int, atRelay: Bool) -> Bool {
        let side = connections[index][atRelay: atRelay]
        guard side.isOpen, !side.isClosing else { return false }
        return atRelay ? !connections[index].isPaused : clients[connections[index].client].isReading
    }

    private func noteRead(_ byteCount: Int, _ index: Int, atRelay: Bool) {
        let wasFull = connections[index][pipeFromRelay: !atRelay].unreadByteCount >= VirtualPipe.windowByteCount
        connections[index][pipeFromRelay: !atRelay].unreadByteCount -= byteCount
        if wasFull { schedule(.writable(connection: index, atRelay: !atRelay), after: delay(of: connections[index])) }
    }

    func end(_ index: Int, _ atRelay: Bool, _ ending: Ending) {
        guard connections[index][atRelay: atRelay].isOpen else { return }
        defer { releaseTLS(index) }
        let connection = connections[index]
        guard atRelay else {
            connections[index].clientSide.isOpen = false
            clients[connection.client].engine.closed(connection.id, byPeer: true, now: now)
            return settle(clients[connection.client])
        }
        if ending == .finished {
            relay.loops.endOfStream(connection.key, now: now)
        } else {
            connections[index].relaySide.isOpen = false
            relay.loops.closed(connection.key, now: now)
        }
        settleRelay()
    }

    private func close(_ index: Int, atRelay: Bool, isGraceful: Bool) {
        guard connections[index][atRelay: atRelay].isOpen, !connections[index][atRelay: atRelay].isClosing else {
            return
        }
        guard isGraceful else { return finishClose(index, atRelay: atRelay) }
        connections[index][atRelay: atRelay].isClosing = true
        schedule(.closeTimeout(connection: index, atRelay: atRelay), after: VirtualPipe.closeTimeout)
        fill(index, atRelay: atRelay)
    }

    private func finishClose(_ index: Int, atRelay: Bool) {
        guard connections[index][atRelay: atRelay].isOpen else { return }
        defer { releaseTLS(index) }
        connections[index][atRelay: atRelay].isOpen = false
        let connection = connections[index]
        let client = clients[connection.client]
        let sent = connection[pipeFromRelay: atRelay].takenAt
        schedule(
            .ended(connection: index, atRelay: !atRelay, .finished),
            at: max(sent, now) + client.conditions.delay + client.conditions.jitter)
        if atRelay {
            guard connection.generation == generation else { return }
            relay.loops.closed(connection.key, now: now)
            settleRelay()
        } else {
            client.engine.closed(connection.id, byPeer: false, now: now)
            settle(client)
        }
    }
}
