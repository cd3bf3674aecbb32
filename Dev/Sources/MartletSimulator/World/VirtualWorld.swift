package import Martlet
package import MartletLink
package import MartletRelay
package import MartletTestKit
package import MartletWire

/// A relay, its clients and the network between them, in one thread and in virtual time.
///
/// The engines are the real ones, and all bytes are encoded and parsed as on a socket. Time advances from event to
/// event; simultaneous events happen in the order of their causes. The same seed and the same calls give the same run.
package final class VirtualWorld {
    /// The current time. A world starts at one second.
    package internal(set) var now = Instant(nanoseconds: 1_000_000_000) {
        didSet { setWallClock() }
    }
    /// The relay; a new instance after `restartRelay`.
    package private(set) var relay: VirtualRelay {
        didSet { setWallClock() }
    }
    /// The clients in the order of addition.
    package private(set) var clients: [VirtualClient] = []
    /// The difference of the relay's wall clock to the world's time, in milliseconds.
    package var wallClockOffset: Int64 = 1_700_000_000_000 {
        didSet { setWallClock() }
    }
    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 { UInt64(Int64(now.nanoseconds / 1_000_000) + wallClockOffset) }
    /// The number of connections established so far.
    package internal(set) var connectionCount = 0
    /// The disturbances of frames on unordered carriers.
    package internal(set) var trouble = PathTrouble()

    /// TLS on ordered carriers; nil without.
    let tls: VirtualTLSWorld?
    private let relayConfiguration: RelayConfiguration
    private let loopCount: Int
    let seed: UInt64
    var random: SeededRandom
    var events = TimerQueue<Int>()
    var eventOfNumber: [Int: Event] = [:]
    var nextNumber = 0
    var connections: [VirtualConnection] = []
    var delayedEvents: [Event] = []
    var attempts: [Int: ConnectionID] = [:]
    /// The generation of the relay. Events for an earlier relay are dropped.
    var generation = 0
    private var relayIsDownUntil = Instant.zero
    private var stepsAtThisInstant = 0
    /// The number of events and deadlines so far.
    package private(set) var stepCount = 0
    /// The last hello of each client that resumed a link.
    var usedHellos: [Int: [UInt8]] = [:]

    /// Creates a world with a relay and no clients.
    ///
    /// - Parameter tls: Certificates, if connections on ordered carriers use TLS.
    package init(
        relay configuration: RelayConfiguration = RelayConfiguration(), loopCount: Int = 1, seed: UInt64 = 1,
        tls: VirtualTLS? = nil
    ) {
        self.loopCount = loopCount
        self.tls = tls.map { VirtualTLSWorld($0) }
        random = SeededRandom(seed: seed)
        relayConfiguration = configuration
        relay = VirtualRelay(configuration, loopCount: loopCount, seed: seed)
        self.seed = seed
        setWallClock()
    }

    /// Sets the relay's wall clock. Events without bytes from the network require this, too: results of the store
    /// and of the policy, and deadlines.
    private func setWallClock() {
        relay.loops.setWallClock(wallClock)
    }

    // MARK: - Clients

    /// Adds a client that is not started.
    ///
    /// - Parameters:
    ///   - name: A valid account name.
    ///   - device: The device's ID; by default the number of the client.
    ///   - adjust: Changes the client's configuration.
    package func addClient(
        _ name: String, device: UInt64? = nil, conditions: PathConditions = PathConditions(),
        carrier: Carrier = .reliable, _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) -> VirtualClient {
        guard let account = AccountName(name) else { preconditionFailure("not an account name: \(name)") }
        let number = UInt64(clients.count + 1)
        var configuration = ClientConfiguration(account: account, device: DeviceID(rawValue: device ?? number))
        configuration.carrier = carrier
        // A cut ends one connection in this world, not thousands at once.
        configuration.reconnect.peerClosedBase = configuration.reconnect.base
        adjust(&configuration)
        let client = VirtualClient(configuration, conditions, seed: seed &+ number << 32, now: now)
        clients.append(client)
        return client
    }

    /// Calls an event of a client's engine and processes the outputs.
    package func act<Result>(
        _ client: VirtualClient, _ event: (inout ClientEngine, Instant) throws -> Result
    ) rethrows -> Result {
        let result = try event(&client.engine, now)
        settle(client)
        return result
    }

    /// Calls an event of the relay's engine and processes the outputs.
    package func act(_ event: (inout RelayEngine, Instant) -> Void) {
        event(&relay.engine, now)
        settleRelay()
    }

    /// Sends a text under the client's next counter and returns the counter.
    @discardableResult
    package func send(
        _ text: String, from client: VirtualClient, in room: RoomID, timeToLive: Duration? = nil
    ) throws(ClientError) -> UInt64 {
        let counter = client.nextCounter
        try client.engine.send(
            counter: counter, content: MessageContent(text: text), timeToLive: timeToLive, in: room, now: now)
        client.nextCounter += 1
        settle(client)
        return counter
    }

    /// Takes all pending messages of a client and lets its application take later ones.
    package func takeMessages(_ client: VirtualClient) {
        client.takesMessages = true
        client.takeAll(now: now)
        settle(client)
    }

    // MARK: - Faults

    /// Replaces the relay: links and unstored messages are lost, connections break, and connects fail for a while.
    ///
    /// Pending appends and roles are durable or lost at random.
    package func restartRelay(downFor time: Duration = .zero) {
        for index in connections.indices where connections[index].generation == generation {
            connections[index].relayIsOpen = false
            schedule(.ended(connection: index, atRelay: false, .reset), after: delay(of: connections[index]))
        }
        for number in eventOfNumber.keys.sorted() {
            switch eventOfNumber[number] {
            case .work(.append(let room, let entries, let erasures), generation):
                if !relay.refusesAppends, random.happens(perMille: 500) {
                    relay.store(entries, in: room, erasing: erasures)
                }
            case .work(.saveRoles(let room, let roles, let creation), generation):
                if !relay.refusesAppends, random.happens(perMille: 500) { relay.store(roles, of: room, creation) }
            case .work(.saveMemberships(let room, let changes), generation):
                if !relay.refusesMemberships, random.happens(perMille: 500) { relay.store(changes, of: room) }
            default: break
            }
        }
        relay = VirtualRelay(relayConfiguration, loopCount: loopCount, after: relay, seed: random.next())
        tls?.restartServer()
        generation += 1
        relayIsDownUntil = now + time
    }

    /// Breaks a client's connections. Both sides notice after half a round trip.
    package func cut(_ client: VirtualClient) {
        for index in connections.indices where isOpen(connections[index], of: client) {
            let delay = client.conditions.delay
            schedule(.ended(connection: index, atRelay: true, .reset), after: delay)
            schedule(.ended(connection: index, atRelay: false, .reset), after: delay)
        }
    }

    /// Blocks a client's path in one or both directions until `restore`, without notice.
    package func blackHole(_ client: VirtualClient, _ direction: PathDirection = .both) {
        client.blocked = direction
        deliverDelayed()
    }

    /// Unblocks a client's path; delayed bytes arrive.
    package func restore(_ client: VirtualClient) {
        client.blocked = nil
        deliverDelayed()
        guard let index = index(of: client), let attempt = attempts[index] else { return }
        schedule(.established(client: index, attempt), after: client.conditions.delay * 2)
    }

    /// Delivers all delayed events at once, because later bytes of a stream must not overtake them. Events that are
    /// still blocked are delayed again in order.
    private func deliverDelayed() {
        let waiting = delayedEvents
        delayedEvents = []
        for event in waiting { handle(event) }
    }

    /// Crashes a client's process: its connections close, and its engine is replaced by one without rooms that is not
    /// started.
    package func crash(_ client: VirtualClient) {
        guard let number = index(of: client) else { return }
        attempts[number] = nil
        for index in connections.indices where connections[index].client == number {
            guard connections[index].clientSide.isOpen else { continue }
            connections[index].clientSide.isOpen = false
            schedule(.ended(connection: index, atRelay: true, .finished), after: client.conditions.delay)
        }
        client.untaken = []
        client.uploads = [:]
        client.downloads = [:]
        tls?.restartClient(number)
        client.engine = ClientEngine(configuration: client.configuration, seed: random.next(), now: now)
    }

    /// Moves a client's host to another network and reports it. Bytes in transit on the old network are lost.
    package func switchPath(of client: VirtualClient, to conditions: PathConditions, _ status: PathStatus) {
        dropNATMappings(of: client)
        client.conditions = conditions
        act(client) { $0.pathChanged(to: status, now: $1) }
    }

    /// Drops the NAT mappings of a client's connections: their bytes are lost in both directions without notice. New
    /// connections are not affected.
    package func dropNATMappings(of client: VirtualClient) {
        for index in connections.indices where isOpen(connections[index], of: client) {
            connections[index].hasNoMapping = true
        }
    }

    /// Stops the client's host from reading. On a stream the window fills and the relay cannot write.
    package func stopReading(_ client: VirtualClient) {
        client.isReading = false
    }

    /// Resumes reading by the client's host.
    package func startReading(_ client: VirtualClient) {
        client.isReading = true
        for index in connections.indices where isOpen(connections[index], of: client) { readUnread(index) }
    }

    /// Replays the last resuming hello of a client on another connection. Returns whether a link was resumed.
    package func replayHello(of client: VirtualClient) -> Bool {
        guard let number = index(of: client), let hello = usedHellos[number], isRelayUp,
            let key = relay.engine.accepted(client.carrier, now: now)
        else { return false }
        let before = relay.loops.statistics.resumes
        relay.loops.receive(hello.rawBytes, on: key, now: now)
        settleRelay()
        let isResumed = relay.loops.statistics.resumes != before
        relay.loops.closed(key, now: now)
        settleRelay()
        return isResumed
    }

    /// Revokes an account: its devices are disconnected and refused until `readmit`.
    package func revoke(_ account: AccountName) {
        relay.refusals[account] = Notice(code: .revoked)
        relay.loops.revoke(account, now: now)
        settleRelay()
    }

    /// Accepts an account's devices again.
    package func readmit(_ account: AccountName) {
        relay.refusals[account] = nil
    }

    /// Whether the client's newest connection reaches the relay.
    package func isPathIntact(of client: VirtualClient) -> Bool {
        guard let newest = connections.last(where: { clients[$0.client] === client }) else { return false }
        return newest.generation == generation && newest.clientSide.isOpen && newest.relaySide.isOpen
            && !newest.hasNoMapping
    }

    /// The number of open connections of a client at the relay.
    package func openConnectionCount(of client: VirtualClient) -> Int {
        connections.count { $0.generation == generation && clients[$0.client] === client && $0.relaySide.isOpen }
    }

    // MARK: - Time

    /// Calls `body` after a delay. It may call the world.
    package func after(_ delay: Duration, _ body: @escaping () -> Void) {
        schedule(.call(body), after: delay)
    }

    /// Advances time.
    package func run(for duration: Duration) {
        run(until: now + duration)
    }

    /// Advances time until `condition` holds; false if it does not hold by `limit`.
    @discardableResult
    package func run(until limit: Instant = .distantFuture, _ condition: () -> Bool = { false }) -> Bool {
        while !condition() {
            guard let next = nextEventTime, next <= limit else {
                if limit != .distantFuture { now = max(now, limit) }
                return condition()
            }
            if next > now {
                now = next
                stepsAtThisInstant = 0
            }
            step()
        }
        return true
    }

    var isRelayUp: Bool { now >= relayIsDownUntil }

    private var nextEventTime: Instant? {
        var earliest = events.earliest
        for candidate in [relay.loops.deadline] + clients.map({ $0.engine.deadline }) {
            if let candidate { earliest = min(earliest ?? candidate, candidate) }
        }
        return earliest
    }

    private func step() {
        stepCount += 1
        stepsAtThisInstant += 1
        precondition(stepsAtThisInstant < 1_000_000, "an engine's deadline does not advance")
        if let number = events.popExpired(now: now), let event = eventOfNumber.removeValue(forKey: number) {
            return handle(event)
        }
        if let deadline = relay.loops.deadline, deadline <= now {
            relay.loops.deadlinePassed(now: now)
            settleRelay()
        }
        for client in clients {
            guard let deadline = client.engine.deadline, deadline <= now else { continue }
            client.engine.deadlinePassed(now: now)
            settle(client)
        }
    }
}
