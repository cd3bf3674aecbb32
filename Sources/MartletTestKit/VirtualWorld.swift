public import MartletProtocol
import MartletWire

/// A relay, its clients and the network between them, in one thread and in virtual time.
///
/// The engines are the real ones, and every byte between them is encoded and parsed as on a socket. Time passes only
/// from event to event; events at the same instant happen in the order in which they were caused. The same seed and the
/// same calls give the same run.
public final class VirtualWorld {
    /// The time, in nanoseconds since the world began.
    public private(set) var now = Instant.zero
    /// The relay.
    public private(set) var relay: VirtualRelay
    /// The clients in the order in which they were added.
    public private(set) var clients: [VirtualClient] = []
    /// Connections that were established since the world began.
    public private(set) var connectionCount = 0

    private enum Event {
        case established(client: Int, ConnectionID)
        case failed(client: Int, ConnectionID)
        case arrived([UInt8], connection: Int, atRelay: Bool)
        case writable(connection: Int, atRelay: Bool)
        case ended(connection: Int, atRelay: Bool, byPeer: Bool)
    }

    private struct Connection {
        var client: Int
        var id: ConnectionID
        var key: ConnectionKey
        var up = VirtualPipe()
        var down = VirtualPipe()
        var clientIsOpen = true
        var relayIsOpen = true
        var isWaitingUp = false
        var isWaitingDown = false
    }

    private let relayConfiguration: RelayConfiguration
    private var random: VirtualRandom
    private var events = TimerQueue<Int>()
    private var eventOfNumber: [Int: Event] = [:]
    private var nextNumber = 0
    private var connections: [Connection] = []
    private var seed: UInt64

    /// A world with a relay and no clients.
    public init(relay configuration: RelayConfiguration = RelayConfiguration(), seed: UInt64 = 1) {
        random = VirtualRandom(seed: seed)
        relayConfiguration = configuration
        relay = VirtualRelay(configuration, seed: seed)
        self.seed = seed
        now = Instant(nanoseconds: 1_000_000_000)
    }

    // MARK: Who is there

    /// Adds a client; it does nothing until it is told to start.
    public func addClient(
        _ name: String, conditions: PathConditions = PathConditions(), carrier: Carrier = .reliable,
        _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) -> VirtualClient {
        guard let account = AccountName(name) else { preconditionFailure("not an account name: \(name)") }
        var configuration = ClientConfiguration(account: account, device: DeviceID(rawValue: UInt64(clients.count + 1)))
        configuration.carrier = carrier
        // A cut ends one connection here, not a thousand at once.
        configuration.reconnect.peerClosedBase = configuration.reconnect.base
        adjust(&configuration)
        let client = VirtualClient(configuration, conditions, seed: seed &+ UInt64(clients.count + 1) << 32, now: now)
        clients.append(client)
        return client
    }

    /// Calls an event of a client's engine and carries out what follows.
    public func act<Result>(
        _ client: VirtualClient, _ event: (inout ClientEngine, Instant) throws -> Result
    ) rethrows -> Result {
        let result = try event(&client.engine, now)
        settle(client)
        return result
    }

    /// Calls an event of the relay's engine and carries out what follows.
    public func act(_ event: (inout RelayEngine, Instant) -> Void) {
        event(&relay.engine, now)
        settleRelay()
    }

    /// Sends a text under the client's next counter and returns the counter.
    @discardableResult
    public func send(_ text: String, from client: VirtualClient, in room: RoomID) throws -> UInt64 {
        let counter = client.nextCounter
        client.nextCounter += 1
        try act(client) { engine, now in
            try engine.send(
                counter: counter, kind: .text, content: Message.textContent(text), in: room, now: now)
        }
        return counter
    }

    /// The application of a client that had stopped taking messages takes what has come.
    public func takeMessages(_ client: VirtualClient) {
        client.takesMessages = true
        client.takeAll(now: now)
        settle(client)
    }

    /// Kills the relay: links and whatever is not in the store are gone; every connection breaks.
    public func restartRelay() {
        for index in connections.indices { cut(connection: index) }
        let log = relay.log
        relay = VirtualRelay(relayConfiguration, seed: random.next())
        relay.log = log
    }

    // MARK: Trouble

    /// Breaks a client's connection; both sides notice half a round trip later.
    public func cut(_ client: VirtualClient) {
        guard let index = clients.firstIndex(where: { $0 === client }) else { return }
        for connection in connections.indices where connections[connection].client == index {
            cut(connection: connection)
        }
    }

    /// Lets bytes through again that waited while the client was not reachable.
    public func restore(_ client: VirtualClient) {
        client.isReachable = true
        let waiting = heldBack
        heldBack = []
        for held in waiting {
            guard clients[connections[held.connection].client] === client else {
                heldBack.append(held)
                continue
            }
            schedule(
                .arrived(held.bytes, connection: held.connection, atRelay: held.atRelay), after: client.conditions.delay
            )
        }
    }

    private var heldBack: [(bytes: [UInt8], connection: Int, atRelay: Bool)] = []

    private func cut(connection index: Int) {
        guard connections[index].clientIsOpen || connections[index].relayIsOpen else { return }
        let delay = clients[connections[index].client].conditions.delay
        schedule(.ended(connection: index, atRelay: true, byPeer: true), after: delay)
        schedule(.ended(connection: index, atRelay: false, byPeer: true), after: delay)
    }

    // MARK: Time

    /// Lets time pass.
    public func run(for duration: Duration) {
        run(until: now + duration)
    }

    /// Lets time pass until `condition` holds; false when it does not within `limit`.
    @discardableResult
    public func run(until limit: Instant = .distantFuture, _ condition: () -> Bool = { false }) -> Bool {
        while !condition() {
            guard let next = nextEventTime, next <= limit else {
                if limit != .distantFuture { now = max(now, limit) }
                return condition()
            }
            now = max(now, next)
            step()
        }
        return true
    }

    private var nextEventTime: Instant? {
        var earliest = events.earliest
        for candidate in [relay.engine.deadline] + clients.map({ $0.engine.deadline }) {
            if let candidate { earliest = min(earliest ?? candidate, candidate) }
        }
        return earliest
    }

    private func step() {
        if let number = events.popExpired(now: now), let event = eventOfNumber.removeValue(forKey: number) {
            return handle(event)
        }
        if let deadline = relay.engine.deadline, deadline <= now {
            relay.engine.deadlinePassed(now: now)
            settleRelay()
        }
        for client in clients {
            guard let deadline = client.engine.deadline, deadline <= now else { continue }
            client.engine.deadlinePassed(now: now)
            settle(client)
        }
    }

    private func schedule(_ event: Event, after delay: Duration) {
        schedule(event, at: now + delay)
    }

    private func schedule(_ event: Event, at instant: Instant) {
        eventOfNumber[nextNumber] = event
        // Numbers break ties, so that what was caused first happens first.
        events.set(nextNumber, at: Instant(nanoseconds: max(instant, now).nanoseconds))
        nextNumber += 1
    }

    private func handle(_ event: Event) {
        switch event {
        case .established(let index, let id):
            establish(clients[index], index, id)
        case .failed(let index, let id):
            clients[index].engine.connectFailed(id, now: now)
            settle(clients[index])
        case .arrived(let bytes, let index, let atRelay):
            arrive(bytes, index, atRelay)
        case .writable(let index, let atRelay):
            if atRelay { connections[index].isWaitingDown = false } else { connections[index].isWaitingUp = false }
            fill(index, atRelay: atRelay)
        case .ended(let index, let atRelay, let byPeer):
            end(index, atRelay: atRelay, byPeer: byPeer)
        }
    }

    // MARK: Connections

    private func establish(_ client: VirtualClient, _ index: Int, _ id: ConnectionID) {
        guard client.isReachable, let key = relay.engine.accepted(client.carrier, now: now) else {
            return schedule(.failed(client: index, id), after: client.conditions.delay)
        }
        connectionCount += 1
        connections.append(Connection(client: index, id: id, key: key))
        client.engine.connected(id, localAddress: nil, now: now)
        settle(client)
        settleRelay()
    }

    private func arrive(_ bytes: [UInt8], _ index: Int, _ atRelay: Bool) {
        let connection = connections[index]
        let client = clients[connection.client]
        guard client.isReachable else { return heldBack.append((bytes, index, atRelay)) }
        if atRelay, connection.relayIsOpen {
            relay.engine.wallClock = now.nanoseconds / 1_000_000
            relay.engine.receive(bytes.rawBytes, on: connection.key, now: now)
            settleRelay()
        } else if !atRelay, connection.clientIsOpen {
            client.engine.receive(bytes.rawBytes, on: connection.id, now: now)
            settle(client)
        }
    }

    private func end(_ index: Int, atRelay: Bool, byPeer: Bool) {
        if atRelay {
            guard connections[index].relayIsOpen else { return }
            connections[index].relayIsOpen = false
            relay.engine.closed(connections[index].key, now: now)
            settleRelay()
        } else {
            guard connections[index].clientIsOpen else { return }
            connections[index].clientIsOpen = false
            let client = clients[connections[index].client]
            client.engine.closed(connections[index].id, byPeer: byPeer, now: now)
            settle(client)
        }
    }

    private func settle(_ client: VirtualClient) {
        guard let index = clients.firstIndex(where: { $0 === client }) else { return }
        for output in client.drain(now: now) {
            switch output {
            case .connect(let id, _):
                // A dial takes a round trip; one into nothing takes as long as the engine waits for it.
                guard client.isReachable else { continue }
                schedule(.established(client: index, id), after: client.conditions.delay * 2)
            case .close(let id, let graceful):
                guard let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) else {
                    continue
                }
                if graceful { fill(connection, atRelay: false) }
                connections[connection].clientIsOpen = false
                schedule(
                    .ended(connection: connection, atRelay: true, byPeer: true),
                    at: connections[connection].up.takenAt + client.conditions.delay + client.conditions.jitter)
                client.engine.closed(id, byPeer: false, now: now)
                settle(client)
            case .transmit(let id):
                guard let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) else {
                    continue
                }
                fill(connection, atRelay: false)
            default: break
            }
        }
    }

    private func settleRelay() {
        for output in relay.drain(now: now) {
            switch output {
            case .transmit(let key):
                if let index = connections.firstIndex(where: { $0.key == key }) { fill(index, atRelay: true) }
            case .close(let key, let afterFlush):
                guard let index = connections.firstIndex(where: { $0.key == key }) else { continue }
                if afterFlush { fill(index, atRelay: true) }
                connections[index].relayIsOpen = false
                relay.engine.closed(key, now: now)
                let conditions = clients[connections[index].client].conditions
                schedule(
                    .ended(connection: index, atRelay: false, byPeer: true),
                    at: connections[index].down.takenAt + conditions.delay + conditions.jitter)
            default: break
            }
        }
    }

    /// Asks an engine for bytes as long as the path's buffer has room.
    private func fill(_ index: Int, atRelay: Bool) {
        let client = clients[connections[index].client]
        guard atRelay ? connections[index].relayIsOpen : connections[index].clientIsOpen else { return }
        guard !(atRelay ? connections[index].isWaitingDown : connections[index].isWaitingUp) else { return }
        while true {
            let pipe = atRelay ? connections[index].down : connections[index].up
            let backlog = pipe.backlog(client.conditions, now: now)
            guard backlog < VirtualPipe.bufferByteCount / 2 else {
                if atRelay { connections[index].isWaitingDown = true } else { connections[index].isWaitingUp = true }
                let drained = Int64(backlog - VirtualPipe.bufferByteCount / 4) * 1_000_000
                let wait = Duration.microseconds(drained / Int64(client.conditions.bytesPerSecond ?? 1))
                return schedule(.writable(connection: index, atRelay: atRelay), after: wait)
            }
            let bytes = transmit(index, atRelay: atRelay)
            guard !bytes.isEmpty else { return }
            send(bytes, index, atRelay: atRelay)
        }
    }

    private func transmit(_ index: Int, atRelay: Bool) -> [UInt8] {
        let connection = connections[index]
        let capacity = VirtualPipe.bufferByteCount / 2 + FrameHeader.byteCount
        return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var out = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
            if atRelay {
                relay.engine.transmit(on: connection.key, into: &out, now: now)
            } else {
                clients[connection.client].engine.transmit(on: connection.id, into: &out, now: now)
            }
            count = unsafe out.finalize(for: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    private func send(_ bytes: [UInt8], _ index: Int, atRelay: Bool) {
        let client = clients[connections[index].client]
        let conditions = client.conditions
        let pieces = client.carrier == .reliable ? segments(bytes) : frames(bytes)
        for piece in pieces {
            let jitter = random.next()
            let arrival =
                atRelay
                ? connections[index].down.send(piece.count, conditions, random: jitter, now: now)
                : connections[index].up.send(piece.count, conditions, random: jitter, now: now)
            let event = Event.arrived(piece, connection: index, atRelay: !atRelay)
            guard client.carrier == .unreliable, !isHandshake(piece) else {
                schedule(event, at: arrival)
                continue
            }
            if random.happens(perMille: conditions.lostPerMille) { continue }
            let late = random.happens(perMille: conditions.overtakenPerMille)
            schedule(event, at: late ? arrival + conditions.delay : arrival)
            if random.happens(perMille: conditions.doubledPerMille) {
                schedule(event, at: arrival + conditions.delay / 2)
            }
        }
    }

    private func segments(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 1460).map { Array(bytes[$0..<min($0 + 1460, bytes.count)]) }
    }

    /// A datagram carries one frame.
    private func frames(_ bytes: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= FrameHeader.byteCount {
            let header = Array(rest.prefix(FrameHeader.byteCount))
            let body = header[20..<24].reduce(0) { $0 << 8 | Int($1) }
            result.append(Array(rest.prefix(FrameHeader.byteCount + body)))
            rest = rest.dropFirst(FrameHeader.byteCount + body)
        }
        return result
    }

    /// The handshake of a datagram carrier is a matter of its own; here it gets through.
    private func isHandshake(_ frame: [UInt8]) -> Bool {
        frame.count > 6 && frame[6] == 0x40
    }
}
