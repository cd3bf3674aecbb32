public import MartletProtocol
public import MartletWire

/// A relay, its clients and the network between them, in one thread and in virtual time.
///
/// The engines are the real ones, and every byte between them is encoded and parsed as on a socket. Time passes only
/// from event to event; events at the same instant happen in the order in which they were caused. The same seed and the
/// same calls give the same run.
public final class VirtualWorld {
    /// The time, in nanoseconds; a world begins at one second.
    public internal(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// The relay; another after `restartRelay`.
    public private(set) var relay: VirtualRelay
    /// The clients in the order in which they were added.
    public private(set) var clients: [VirtualClient] = []
    /// By how much the relay's wall clock is ahead of the world's time, in milliseconds.
    public var wallClockOffset: Int64 = 1_700_000_000_000
    /// Connections that were established since the world began.
    public internal(set) var connectionCount = 0
    /// What happened to frames on carriers without order.
    public internal(set) var trouble = PathTrouble()

    let relayConfiguration: RelayConfiguration
    private let loopCount: Int
    let seed: UInt64
    var random: SeededRandom
    var events = TimerQueue<Int>()
    var eventOfNumber: [Int: Event] = [:]
    var nextNumber = 0
    var connections: [VirtualConnection] = []
    var heldBack: [Event] = []
    var dials: [Int: ConnectionID] = [:]
    /// Counts the relays; what was meant for an earlier one is not for this one.
    var era = 0
    private var relayIsDownUntil = Instant.zero
    private var stepsAtThisInstant = 0
    /// Events and deadlines since the world began.
    public private(set) var stepCount = 0
    /// Of each client, the last hello with which a link was resumed.
    var usedHellos: [Int: [UInt8]] = [:]

    /// A world with a relay and no clients.
    ///
    /// - Parameter loopCount: over how many loops the relay spreads accounts and rooms, 1 to 64.
    public init(
        relay configuration: RelayConfiguration = RelayConfiguration(), loopCount: Int = 1, seed: UInt64 = 1
    ) {
        self.loopCount = loopCount
        random = SeededRandom(seed: seed)
        relayConfiguration = configuration
        relay = VirtualRelay(configuration, loopCount: loopCount, seed: seed)
        self.seed = seed
    }

    // MARK: Who is there

    /// Adds a client; it does nothing until it is told to start.
    ///
    /// - Parameters:
    ///   - name: a valid account name.
    ///   - device: the device's ID; by default another for each client.
    ///   - adjust: changes the client's configuration.
    public func addClient(
        _ name: String, device: UInt64? = nil, conditions: PathConditions = PathConditions(),
        carrier: Carrier = .reliable, _ adjust: (inout ClientConfiguration) -> Void = { _ in }
    ) -> VirtualClient {
        guard let account = AccountName(name) else { preconditionFailure("not an account name: \(name)") }
        let number = UInt64(clients.count + 1)
        var configuration = ClientConfiguration(account: account, device: DeviceID(rawValue: device ?? number))
        configuration.carrier = carrier
        // A cut ends one connection here, not a thousand at once.
        configuration.reconnect.peerClosedBase = configuration.reconnect.base
        adjust(&configuration)
        let client = VirtualClient(configuration, conditions, seed: seed &+ number << 32, now: now)
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
    public func send(
        _ text: String, from client: VirtualClient, in room: RoomID, timeToLive: Duration? = nil
    ) throws(ClientError) -> UInt64 {
        let counter = client.nextCounter
        try client.engine.send(
            counter: counter, content: MessageContent(text: text), timeToLive: timeToLive, in: room, now: now)
        client.nextCounter += 1
        settle(client)
        return counter
    }

    /// The application of a client that had stopped taking messages takes what has come.
    public func takeMessages(_ client: VirtualClient) {
        client.takesMessages = true
        client.takeAll(now: now)
        settle(client)
    }

    // MARK: Trouble

    /// Kills the relay and starts another: links, and what has not reached the store, are gone, every connection
    /// breaks, and nobody can connect for a while.
    ///
    /// What was on its way to the store is there afterwards, or is not: that is left to chance.
    public func restartRelay(downFor time: Duration = .zero) {
        for index in connections.indices where connections[index].era == era {
            connections[index].relayIsOpen = false
            schedule(.ended(connection: index, atRelay: false, .reset), after: delay(of: connections[index]))
        }
        for number in eventOfNumber.keys.sorted() {
            guard case .work(.append(let room, let entries), era) = eventOfNumber[number] else { continue }
            if !relay.refusesAppends, random.happens(perMille: 500) { relay.store(entries, in: room) }
        }
        relay = VirtualRelay(relayConfiguration, loopCount: loopCount, after: relay, seed: random.next())
        era += 1
        relayIsDownUntil = now + time
    }

    /// Breaks a client's connections; both sides notice half a round trip later.
    public func cut(_ client: VirtualClient) {
        for index in connections.indices where isOpen(connections[index], of: client) {
            let delay = client.conditions.delay
            schedule(.ended(connection: index, atRelay: true, .reset), after: delay)
            schedule(.ended(connection: index, atRelay: false, .reset), after: delay)
        }
    }

    /// A direction of a path.
    public enum Way: Sendable {
        /// From the client to the relay.
        case up
        /// From the relay to the client.
        case down
        /// Both.
        case both
    }

    /// Lets nothing through between a client and the relay, or in one direction only, until `restore`; nobody is told.
    public func blackHole(_ client: VirtualClient, _ way: Way = .both) {
        client.blocked = way
        releaseHeldBack()
    }

    /// Lets bytes through again that waited while the client was not reachable.
    public func restore(_ client: VirtualClient) {
        client.blocked = nil
        releaseHeldBack()
        guard let index = index(of: client), let dial = dials[index] else { return }
        schedule(.established(client: index, dial), after: client.conditions.delay * 2)
    }

    /// Lets what waited come at once, or what is under way behind it would overtake it, which nothing does on a stream.
    /// What is still out of reach waits on, in its order.
    private func releaseHeldBack() {
        let waiting = heldBack
        heldBack = []
        for event in waiting { handle(event) }
    }

    /// Kills a client's process: its connections end, and its engine is a new one, without rooms and not started.
    public func crash(_ client: VirtualClient) {
        guard let number = index(of: client) else { return }
        dials[number] = nil
        for index in connections.indices where connections[index].client == number {
            guard connections[index].clientSide.isOpen else { continue }
            connections[index].clientSide.isOpen = false
            schedule(.ended(connection: index, atRelay: true, .finished), after: client.conditions.delay)
        }
        client.untaken = []
        client.engine = ClientEngine(configuration: client.configuration, seed: random.next(), now: now)
    }

    /// The client's host moves to another network: what was under way on the old one is gone, and the client is told.
    public func switchPath(of client: VirtualClient, to conditions: PathConditions, _ status: PathStatus) {
        forgetTranslations(of: client)
        client.conditions = conditions
        act(client) { $0.pathChanged(to: status, now: $1) }
    }

    /// The address translator on a client's path forgets its connections: whatever is sent on them from now on, in
    /// either direction, is gone, and nobody is told. New connections are not affected.
    public func forgetTranslations(of client: VirtualClient) {
        for index in connections.indices where isOpen(connections[index], of: client) {
            connections[index].isForgotten = true
        }
    }

    /// The client's host reads no more of what arrives; on a stream its window fills, and the relay cannot write.
    public func stopReading(_ client: VirtualClient) {
        client.isReading = false
    }

    /// The client's host reads what has come, and goes on reading.
    public func startReading(_ client: VirtualClient) {
        client.isReading = true
        for index in connections.indices where isOpen(connections[index], of: client) { readUnread(index) }
    }

    /// Somebody who has listened says again what a client once said to resume its link, on a connection of their own;
    /// true when that resumes a link.
    public func replayHello(of client: VirtualClient) -> Bool {
        guard let number = index(of: client), let hello = usedHellos[number], relayIsUp,
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

    /// Puts out an account's devices, and lets none of them in until `readmit`.
    public func revoke(_ account: AccountName) {
        relay.refusals[account] = Notice(code: .revoked)
        relay.loops.revoke(account, now: now)
        settleRelay()
    }

    /// Lets an account's devices in again.
    public func readmit(_ account: AccountName) {
        relay.refusals[account] = nil
    }

    /// Whether what a client sends on its newest connection can reach the relay.
    public func isPathIntact(of client: VirtualClient) -> Bool {
        guard let newest = connections.last(where: { clients[$0.client] === client }) else { return false }
        return newest.era == era && newest.clientSide.isOpen && newest.relaySide.isOpen && !newest.isForgotten
    }

    /// Connections of a client that the relay holds to be open.
    public func openConnectionCount(of client: VirtualClient) -> Int {
        connections.count { $0.era == era && clients[$0.client] === client && $0.relaySide.isOpen }
    }

    // MARK: Time

    /// Calls `body` after a while; it may call the world.
    public func after(_ delay: Duration, _ body: @escaping () -> Void) {
        schedule(.call(body), after: delay)
    }

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
            if next > now {
                now = next
                stepsAtThisInstant = 0
            }
            step()
        }
        return true
    }

    var relayIsUp: Bool { now >= relayIsDownUntil }

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
        precondition(stepsAtThisInstant < 1_000_000, "time stands still: an engine's deadline does not move on")
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
