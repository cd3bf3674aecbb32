package import Martlet
package import MartletLink
package import MartletRelay
package import MartletTestKit
import MartletTransport
package import MartletWire

/// Relays with one store, their clients and the network between them, in one thread and in virtual time.
///
/// The engines are the real ones, and all bytes are encoded and parsed as on a socket. Time advances from event to
/// event; simultaneous events happen in the order of their causes. The same seed and the same calls give the same run.
package final class VirtualWorld {
    /// The current time. A world starts at one second.
    package internal(set) var now = Instant(nanoseconds: 1_000_000_000) {
        didSet { setWallClock() }
    }
    /// The relays.
    package let relays: [VirtualRelay]
    /// The relay of a world with one; otherwise the first one.
    package var relay: VirtualRelay { relays[0] }
    /// The store of all relays.
    package let store: VirtualStore
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
    let seed: UInt64
    var random: SeededRandom
    var events = TimerQueue<Int>()
    private var eventOfNumber: [Int: Event] = [:]
    private var nextNumber = 0
    var connections: [VirtualConnection] = []
    private var delayedEvents: [Event] = []
    private var attempts: [Int: ConnectionID] = [:]
    /// The path between several relays and their store; nil with one relay.
    package private(set) var storePath: VirtualStorePath?
    /// The bus between several relays; nil without one.
    package private(set) var bus: VirtualBus?
    /// The relay that each client's connects reach.
    private var routes: [Int: VirtualRelay] = [:]
    /// The events of stopped relays, in order.
    private var stoppedEvents: [Event] = []
    private var stepsAtThisInstant = 0
    /// The number of events and deadlines so far.
    package private(set) var stepCount = 0
    /// The last hello of each client that resumed a link.
    private var usedHellos: [Int: (hello: [UInt8], relay: VirtualRelay)] = [:]

    /// Creates a world with relays and no clients.
    ///
    /// - Parameter tls: Certificates, if connections on ordered carriers use TLS.
    package init(
        relay configuration: RelayConfiguration = RelayConfiguration(), relayCount: Int = 1, loopCount: Int = 1,
        seed: UInt64 = 1, tls: VirtualTLS? = nil
    ) {
        self.tls = tls.map { VirtualTLSWorld($0) }
        random = SeededRandom(seed: seed)
        self.seed = seed
        var configuration = configuration
        configuration.sharesRooms = relayCount > 1
        if relayCount > 1 { configuration.busDatagramByteCount = RelayBusBounds.minDatagramByteCount }
        let store = VirtualStore(isShared: relayCount > 1, seed: seed)
        self.store = store
        relays = (0..<UInt64(relayCount)).map {
            // The IDs of the relays' links differ.
            VirtualRelay(configuration, loopCount: loopCount, seed: seed &+ $0 << 48, store: store)
        }
        if relayCount > 1 { storePath = VirtualStorePath(self, seed: seed) }
        if relayCount > 1 { bus = VirtualBus(self, seed: seed) }
        setWallClock()
    }

    /// Sets the relays' wall clocks (R-3). Events without bytes from the network require this, too: results of the
    /// store and of the policy, and deadlines.
    private func setWallClock() {
        for relay in relays { relay.loops.setWallClock(wallClock) }
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
        configuration.link.carrier = carrier
        // A cut ends one connection in this world, not thousands at once.
        configuration.link.reconnect.peerClosedBase = configuration.link.reconnect.base
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
        settle(relay)
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

    /// Replaces the process of a relay: links and unstored messages are lost, connections break, and connects fail for
    /// a while.
    ///
    /// Pending appends and roles are durable or lost at random.
    package func restartRelay(_ number: Int = 0, downFor time: Duration = .zero) {
        let relay = relays[number]
        for index in connections.indices where connections[index].isOf(relay) {
            connections[index].relayIsOpen = false
            schedule(.ended(connection: index, atRelay: false, .reset), after: delay(of: connections[index]))
        }
        if !store.isShared { endCalls() }
        relay.restart(seed: random.next())
        setWallClock()
        tls?.restartServer()
        relay.isDownUntil = now + time
        resume(number)
    }

    /// The calls of the store by a process that ends are performed or lost at random.
    private func endCalls() {
        for number in eventOfNumber.keys.sorted() {
            guard case .work(.store(let question, _), _, let generation) = eventOfNumber[number],
                generation == relay.generation
            else { continue }
            switch question {
            case .append(let append):
                if !store.refusesAppends, random.happens(perMille: 500) {
                    store.append(append.entries, to: append.room, erasing: append.erasures)
                }
            case .saveRoles(let room, let roles, _, let creation):
                if !store.refusesAppends, random.happens(perMille: 500) { store.saveRoles(roles, of: room, creation) }
            case .saveMemberships(let room, let changes):
                if !store.refusesMemberships, random.happens(perMille: 500) { store.saveMemberships(changes, of: room) }
            default: break
            }
        }
    }

    /// Stops the process of a relay until `resume`, as by SIGSTOP: its events and deadlines wait.
    package func stop(_ number: Int) {
        relays[number].isStopped = true
    }

    /// Continues a stopped process, whose events happen at once, in order.
    package func resume(_ number: Int) {
        relays[number].isStopped = false
        let waiting = stoppedEvents
        stoppedEvents = []
        for event in waiting { perform(event) }
    }

    /// Moves a client: its next connects reach another relay, if there is one.
    package func reroute(_ client: VirtualClient) {
        guard let index = index(of: client), relays.count > 1 else { return }
        routes[index] = relays.filter { $0 !== route(of: index) }[Int(random.next() % UInt64(relays.count - 1))]
    }

    private func route(of index: Int) -> VirtualRelay { routes[index] ?? relays[index % relays.count] }

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
        act(client) { $0.handle(.pathChanged(to: status), now: $1) }
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
        guard let number = index(of: client), let (hello, relay) = usedHellos[number], isUp(relay), !relay.isStopped,
            let key = relay.engine.accepted(client.carrier, now: now)
        else { return false }
        let before = relay.loops.statistics.resumes
        relay.loops.receive(hello.rawBytes, on: key, now: now)
        settle(relay)
        let isResumed = relay.loops.statistics.resumes != before
        relay.loops.closed(key, now: now)
        settle(relay)
        return isResumed
    }

    /// Revokes an account: its devices are disconnected and refused until `readmit`.
    package func revoke(_ account: AccountName) {
        for relay in relays {
            relay.refusals[account] = Notice(code: .revoked)
            handle(.revoked(account, relay))
        }
    }

    /// Accepts an account's devices again.
    package func readmit(_ account: AccountName) {
        for relay in relays { relay.refusals[account] = nil }
    }

    /// Whether the client's newest connection reaches the relay.
    package func isPathIntact(of client: VirtualClient) -> Bool {
        guard let newest = connections.last(where: { clients[$0.client] === client }) else { return false }
        return newest.isOf(newest.relay) && newest.clientSide.isOpen && newest.relaySide.isOpen
            && !newest.hasNoMapping
    }

    /// The number of open connections of a client at the relays.
    package func openConnectionCount(of client: VirtualClient) -> Int {
        connections.count { $0.isOf($0.relay) && clients[$0.client] === client && $0.relaySide.isOpen }
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

    /// Whether all relays can be reached.
    var areRelaysUp: Bool { relays.allSatisfy { isUp($0) && !$0.isStopped } }

    func isUp(_ relay: VirtualRelay) -> Bool { now >= relay.isDownUntil }

    private var nextEventTime: Instant? {
        var earliest = events.earliest
        for relay in relays where !relay.isStopped { earliest = earliest.orEarlier(relay.loops.deadline) }
        for client in clients { earliest = earliest.orEarlier(client.engine.deadline) }
        return earliest
    }

    private func step() {
        stepCount += 1
        stepsAtThisInstant += 1
        precondition(stepsAtThisInstant < 1_000_000, "an engine's deadline does not advance")
        if let number = events.popExpired(now: now), let event = eventOfNumber.removeValue(forKey: number) {
            return handle(event)
        }
        for relay in relays where !relay.isStopped {
            guard let deadline = relay.loops.deadline, deadline <= now else { continue }
            relay.loops.deadlinePassed(now: now)
            settle(relay)
        }
        for client in clients {
            guard let deadline = client.engine.deadline, deadline <= now else { continue }
            client.engine.deadlinePassed(now: now)
            settle(client)
        }
    }

    // MARK: - Network

    private enum Ending {
        /// The other end closed gracefully.
        case finished
        /// The connection broke.
        case reset
    }

    private enum Event {
        case established(client: Int, ConnectionID)
        case refused(client: Int, ConnectionID)
        case arrived(Segment, connection: Int, atRelay: Bool)
        case writable(connection: Int, atRelay: Bool)
        case ended(connection: Int, atRelay: Bool, Ending)
        case closeTimeout(connection: Int, atRelay: Bool)
        case credential(client: Int, ConnectionID, Result<Credential?, CredentialFailure>)
        case work(VirtualRelay.Work, VirtualRelay, generation: Int)
        case revoked(AccountName, VirtualRelay)
        case call(() -> Void)
    }

    private struct CredentialFailure: Error {}

    private func schedule(_ event: Event, after delay: Duration) {
        schedule(event, at: now + delay)
    }

    private func schedule(_ event: Event, at instant: Instant) {
        eventOfNumber[nextNumber] = event
        // The queue keeps the order of equal times, so causes precede effects.
        events.set(nextNumber, at: max(instant, now))
        nextNumber += 1
    }

    /// The relay at which an event happens; nil for an event at a client.
    private func relay(of event: Event) -> VirtualRelay? {
        switch event {
        case .arrived(_, let index, true), .writable(let index, true), .ended(let index, true, _),
            .closeTimeout(let index, true):
            connections[index].relay
        case .established(let client, _): route(of: client)
        case .work(_, let relay, _), .revoked(_, let relay): relay
        default: nil
        }
    }

    private func handle(_ event: Event) {
        if !isDelayed(event) { perform(event) }
    }

    private func perform(_ event: Event) {
        guard relay(of: event)?.isStopped != true else { return stoppedEvents.append(event) }
        switch event {
        case .established(let client, let id):
            establish(clients[client], client, id, at: route(of: client))
        case .refused(let client, let id):
            clients[client].engine.handle(.connectFailed(id), now: now)
            settle(clients[client])
        case .arrived(let segment, let index, let atRelay):
            arrive(segment, index, atRelay)
        case .writable(let index, let atRelay):
            connections[index][pipeFromRelay: atRelay].isWaiting = false
            fill(index, atRelay: atRelay)
            if !atRelay { settle(clients[connections[index].client]) }
        case .ended(let index, let atRelay, let ending):
            endCarrier(index, atRelay, ending)
        case .closeTimeout(let index, let atRelay):
            finishClose(index, atRelay: atRelay)
        case .credential(let client, let id, let result):
            switch result {
            case .success(let credential): clients[client].engine.handle(.credential(id, credential), now: now)
            case .failure: clients[client].engine.handle(.credentialFailed(id), now: now)
            }
            settle(clients[client])
        case .work(let work, let relay, let generation):
            guard generation == relay.generation else { return }
            relay.perform(work, now: now)
            settle(relay)
        case .revoked(let account, let relay):
            relay.loops.revoke(account, now: now)
            settle(relay)
        case .call(let body): body()
        }
    }

    func index(of client: VirtualClient) -> Int? {
        clients.firstIndex { $0 === client }
    }

    private func isOpen(_ connection: VirtualConnection, of client: VirtualClient) -> Bool {
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
        case .link(.connect(let id, _)): connect(client, index, id)
        case .link(.startBackup(let id, let current)): connectBackup(client, index, id, beside: current)
        case .link(.fetchCredential(let id)): fetchCredential(client, index, id)
        case .link(.close(let id, let graceful)):
            if attempts[index] == id { attempts[index] = nil }
            if let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) {
                close(connection, atRelay: false, isGraceful: graceful)
            }
        case .link(.transmit(let id)):
            guard let connection = connections.lastIndex(where: { $0.client == index && $0.id == id }) else { return }
            fill(connection, atRelay: false)
        case .replaceDevice: client.engine.replaceDevice(by: DeviceID(rawValue: random.next() | 1), now: now)
        default: break
        }
    }

    private func settle(_ relay: VirtualRelay) {
        let (network, work) = relay.drain(now: now)
        for (work, delay) in work {
            if let storePath, case .store(let question, let loop) = work {
                storePath.ask(question, relay, loop: loop)
            } else {
                schedule(.work(work, relay, generation: relay.generation), after: delay)
            }
        }
        for datagram in relay.takeDatagrams() { bus?.transmit(datagram, from: relay) }
        for output in network {
            switch output {
            case .link(.transmit(let keys)):
                for key in keys { if let index = connection(key, relay) { fill(index, atRelay: true) } }
            case .link(.close(let key, let afterFlush)):
                if let index = connection(key, relay) { close(index, atRelay: true, isGraceful: afterFlush) }
            case .link(.pauseReading(let key)):
                if let index = connection(key, relay) { connections[index].isPaused = true }
            case .link(.resumeReading(let key)):
                guard let index = connection(key, relay) else { continue }
                connections[index].isPaused = false
                readUnread(index)
            default: break
            }
        }
    }

    /// The relay's process receives something from the store, unless it has ended.
    func deliver(_ work: VirtualRelay.Work, to relay: VirtualRelay, generation: Int) {
        schedule(.work(work, relay, generation: generation), after: .zero)
    }

    private func connection(_ key: ConnectionKey, _ relay: VirtualRelay) -> Int? {
        connections.lastIndex { $0.isOf(relay) && $0.key == key }
    }

    private func connect(_ client: VirtualClient, _ index: Int, _ id: ConnectionID) {
        attempts[index] = id
        if relays.count > 1, random.happens(perMille: 100) { reroute(client) }
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
            client.engine.handle(.credential(id, credential), now: now)
            settle(client)
        case .gives(let credential, let delay):
            schedule(.credential(client: index, id, .success(credential)), after: delay)
        case .fails(let delay):
            schedule(.credential(client: index, id, .failure(CredentialFailure())), after: delay)
        case .hangs: break
        }
    }

    // MARK: - Connections

    private func establish(_ client: VirtualClient, _ index: Int, _ id: ConnectionID, at relay: VirtualRelay) {
        guard attempts[index] == id, client.isReachable else { return }
        attempts[index] = nil
        guard isUp(relay), let key = relay.engine.accepted(client.carrier, now: now) else {
            reroute(client)
            return schedule(.refused(client: index, id), after: .zero)
        }
        connectionCount += 1
        connections.append(VirtualConnection(client: index, id: id, key: key, relay: relay))
        guard !startTLS(connections.count - 1) else { return settle(relay) }
        client.engine.handle(.connected(id, localAddress: nil), now: now)
        settle(client)
        settle(relay)
    }

    /// Delays bytes and their end on a blocked path. A connection without NAT mapping drops them.
    private func isDelayed(_ event: Event) -> Bool {
        let (index, atRelay): (Int, Bool)
        switch event {
        case .arrived(_, let connection, let side), .ended(let connection, let side, .finished):
            (index, atRelay) = (connection, side)
        default: return false
        }
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

    private func readUnread(_ index: Int) {
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
            let relay = connections[index].relay
            let bytes = decrypted(segment.bytes, index, atRelay: true)
            let resumes = relay.loops.statistics.resumes
            if !bytes.isEmpty { relay.loops.receive(bytes.rawBytes, on: connections[index].key, now: now) }
            noteRead(segment.byteCount, index, atRelay: true)
            settle(relay)
            noteHello(bytes, index, resumes: resumes)
            finishReceiving(index, atRelay: true)
        }
    }

    /// Keeps the hello of a resumed link, without the early frames behind it.
    private func noteHello(_ bytes: [UInt8], _ index: Int, resumes: UInt64) {
        let connection = connections[index]
        guard connection.relay.loops.statistics.resumes != resumes, isHandshake(bytes),
            let hello = frames(bytes).first
        else { return }
        usedHellos[connection.client] = (hello, connection.relay)
    }

    private func isReading(_ index: Int, atRelay: Bool) -> Bool {
        let side = connections[index][atRelay: atRelay]
        guard side.isOpen, !side.isClosing else { return false }
        return atRelay
            ? !connections[index].isPaused && !connections[index].relay.isStopped
            : clients[connections[index].client].isReading
    }

    private func noteRead(_ byteCount: Int, _ index: Int, atRelay: Bool) {
        let wasFull = connections[index][pipeFromRelay: !atRelay].unreadByteCount >= VirtualPipe.windowByteCount
        connections[index][pipeFromRelay: !atRelay].unreadByteCount -= byteCount
        if wasFull { schedule(.writable(connection: index, atRelay: !atRelay), after: delay(of: connections[index])) }
    }

    private func end(_ index: Int, _ atRelay: Bool, _ ending: Ending) {
        guard connections[index][atRelay: atRelay].isOpen else { return }
        defer { releaseTLS(index) }
        let connection = connections[index]
        guard atRelay else {
            connections[index].clientSide.isOpen = false
            clients[connection.client].engine.handle(.closed(connection.id, byPeer: true), now: now)
            return settle(clients[connection.client])
        }
        if ending == .finished {
            connection.relay.loops.endOfStream(connection.key, now: now)
        } else {
            connections[index].relaySide.isOpen = false
            connection.relay.loops.closed(connection.key, now: now)
        }
        settle(connection.relay)
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
            guard connection.isOf(connection.relay) else { return }
            connection.relay.loops.closed(connection.key, now: now)
            settle(connection.relay)
        } else {
            client.engine.handle(.closed(connection.id, byPeer: false), now: now)
            settle(client)
        }
    }

    // MARK: - Bytes

    /// Requests bytes from an engine while the send buffer has space.
    func fill(_ index: Int, atRelay: Bool) {
        let conditions = clients[connections[index].client].conditions
        while connections[index][atRelay: atRelay].isOpen, !connections[index][pipeFromRelay: atRelay].isWaiting {
            let pipe = connections[index][pipeFromRelay: atRelay]
            if clients[connections[index].client].carrier == .reliable,
                pipe.unreadByteCount >= VirtualPipe.windowByteCount
            {
                connections[index][pipeFromRelay: atRelay].isWaiting = true
                return
            }
            let backlog = pipe.backlog(conditions, now: now)
            guard backlog < VirtualPipe.bufferByteCount / 2 else {
                connections[index][pipeFromRelay: atRelay].isWaiting = true
                let drained = Int64(backlog - VirtualPipe.bufferByteCount / 4) * 1_000_000
                let wait = Duration.microseconds(drained / Int64(conditions.bytesPerSecond ?? 1))
                return schedule(.writable(connection: index, atRelay: atRelay), after: wait)
            }
            let bytes = encrypted(index, atRelay: atRelay) { transmit(index, atRelay: atRelay) }
            guard !bytes.isEmpty else { return finishSending(index, atRelay: atRelay) }
            send(bytes, index, atRelay: atRelay)
        }
    }

    private func finishSending(_ index: Int, atRelay: Bool) {
        guard connections[index][atRelay: atRelay].isClosing else { return }
        closeTLS(index, atRelay: atRelay)
        handle(.closeTimeout(connection: index, atRelay: atRelay))
    }

    private func transmit(_ index: Int, atRelay: Bool) -> [UInt8] {
        let connection = connections[index]
        let capacity = VirtualPipe.bufferByteCount / 2 + FrameHeader.byteCount
        return [UInt8](capacity: capacity) { out in
            if atRelay {
                if connection.isOf(connection.relay) {
                    connection.relay.loops.transmit(on: connection.key, into: &out, now: now)
                }
            } else {
                clients[connection.client].engine.transmit(on: connection.id, into: &out, now: now)
            }
        }
    }

    private func send(_ bytes: [UInt8], _ index: Int, atRelay: Bool) {
        let client = clients[connections[index].client]
        let conditions = client.conditions
        let isStream = client.carrier == .reliable
        for piece in isStream ? segments(bytes) : frames(bytes) {
            guard !isStream, !isHandshake(piece) else {
                schedule(Segment(piece), index, atRelay: atRelay)
                continue
            }
            let arrival = arrival(of: piece.count, index, atRelay: atRelay)
            let event = Event.arrived(Segment(piece), connection: index, atRelay: !atRelay)
            if random.happens(perMille: conditions.lostPerMille) {
                trouble.lost += 1
                continue
            }
            let isLate = random.happens(perMille: conditions.overtakenPerMille)
            if isLate { trouble.overtaken += 1 }
            schedule(event, at: isLate ? arrival + conditions.delay : arrival)
            if random.happens(perMille: conditions.doubledPerMille) {
                trouble.doubled += 1
                schedule(event, at: arrival + conditions.delay / 2)
            }
        }
    }

    /// Schedules the arrival of a segment that is not lost.
    private func schedule(_ segment: Segment, _ index: Int, atRelay: Bool) {
        let arrival = arrival(of: segment.byteCount, index, atRelay: atRelay)
        connections[index][pipeFromRelay: atRelay].unreadByteCount += segment.byteCount
        schedule(.arrived(segment, connection: index, atRelay: !atRelay), at: arrival)
    }

    private func arrival(of byteCount: Int, _ index: Int, atRelay: Bool) -> Instant {
        let client = clients[connections[index].client]
        return connections[index][pipeFromRelay: atRelay].send(
            byteCount, client.conditions, isStream: client.carrier == .reliable, random: random.next(), now: now)
    }

    private func segments(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 1460).map { Array(bytes[$0..<min($0 + 1460, bytes.count)]) }
    }

    /// A datagram carries one frame.
    func frames(_ bytes: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= FrameHeader.byteCount {
            let body = rest.dropFirst(20).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            result.append(Array(rest.prefix(FrameHeader.byteCount + body)))
            rest = rest.dropFirst(FrameHeader.byteCount + body)
        }
        return result
    }

    /// Whether a frame belongs to the handshake. The model does not lose such frames, because the handshake of a
    /// datagram carrier is not specified.
    private func isHandshake(_ frame: [UInt8]) -> Bool {
        frame.count > 6 && frame[6] == 0x40
    }

    // MARK: - TLS
    // TLS between the engines and the ordered carrier, as `TLSTransport` uses it on a socket. Carriers without order
    // have none.

    /// Bytes of a carrier that travel together.
    struct Segment {
        var bytes: [UInt8]
        /// The bytes that count for the rate and the window of the path.
        var byteCount: Int

        init(_ bytes: [UInt8], byteCount: Int? = nil) {
            self.bytes = bytes
            self.byteCount = byteCount ?? bytes.count
        }
    }

    /// Starts the handshake of a new connection. The client's engine learns of the connection after it. Returns false
    /// without TLS.
    private func startTLS(_ index: Int) -> Bool {
        let client = connections[index].client
        guard let tls, clients[client].carrier == .reliable else { return false }
        connections[index].tls = tls.connect(client)
        sendPending(index, atRelay: false)
        return true
    }

    /// Sends messages of a handshake, alerts and close_notify, in three segments, so that faults can separate them.
    private func sendPending(_ index: Int, atRelay: Bool) {
        guard connections[index][atRelay: atRelay].isOpen,
            let bytes = connections[index].tls?[atRelay: atRelay].takePending(), !bytes.isEmpty
        else { return }
        for part in 0..<3 {
            let piece = Array(bytes[(bytes.count * part / 3)..<(bytes.count * (part + 1) / 3)])
            schedule(Segment(piece, byteCount: VirtualTLS.handshakeByteCount / 3), index, atRelay: atRelay)
        }
    }

    /// Sends pending messages and returns the records of the application data; none before the handshake is complete.
    private func encrypted(_ index: Int, atRelay: Bool, _ data: () -> [UInt8]) -> [UInt8] {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return data() }
        sendPending(index, atRelay: atRelay)
        return stream.isOpen ? stream.send(data()) : []
    }

    /// Returns the application data in received bytes. Reports a completed handshake to the client first.
    private func decrypted(_ bytes: [UInt8], _ index: Int, atRelay: Bool) -> [UInt8] {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return bytes }
        let wasOpen = stream.isOpen
        let data = stream.receive(bytes)
        if !wasOpen, stream.isOpen, !atRelay {
            tls?.handshakeCount += 1
            if stream.isResumed { tls?.resumptionCount += 1 }
            let client = clients[connections[index].client]
            client.engine.handle(.connected(connections[index].id, localAddress: nil), now: now)
            settle(client)
        }
        return data
    }

    /// Sends the answers of TLS to received bytes, and handles the end of the stream.
    private func finishReceiving(_ index: Int, atRelay: Bool) {
        guard let stream = connections[index].tls?[atRelay: atRelay] else { return }
        sendPending(index, atRelay: atRelay)
        if let error = stream.error {
            tls?.failures.append("connection \(index) failed at the \(atRelay ? "relay" : "client"): \(error)")
            end(index, atRelay, .reset)
        } else if stream.isPeerClosed {
            end(index, atRelay, .finished)
        } else if connections[index][atRelay: atRelay].hasEnded {
            endCarrier(index, atRelay, .finished)
        }
    }

    /// Handles the end of the carrier. Without close_notify it is a reset (C-65), during the handshake a failure.
    private func endCarrier(_ index: Int, _ atRelay: Bool, _ ending: Ending) {
        guard let stream = connections[index].tls?[atRelay: atRelay], ending == .finished else {
            return end(index, atRelay, ending)
        }
        guard connections[index][atRelay: atRelay].unread.isEmpty else {
            connections[index][atRelay: atRelay].hasEnded = true
            return
        }
        guard !stream.isPeerClosed else { return }
        if !stream.isOpen, !atRelay, connections[index].clientSide.isOpen {
            let client = clients[connections[index].client]
            client.engine.handle(.connectFailed(connections[index].id, .tlsFailure), now: now)
        }
        end(index, atRelay, .reset)
    }

    /// Sends close_notify after the last bytes.
    private func closeTLS(_ index: Int, atRelay: Bool) {
        connections[index].tls?[atRelay: atRelay].close()
        sendPending(index, atRelay: atRelay)
    }

    /// Releases the TLS of a connection that both ends have closed.
    private func releaseTLS(_ index: Int) {
        guard !connections[index].clientSide.isOpen, !connections[index].relaySide.isOpen else { return }
        connections[index].tls = nil
    }
}
