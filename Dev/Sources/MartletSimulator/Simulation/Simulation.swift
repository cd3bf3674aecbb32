import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// Runs a scenario with the real engines in a virtual world, and checks the invariants.
package final class Simulation {
    /// The duration of a sync.
    private static let syncDelay = Duration.milliseconds(20)
    /// The maximum time from the end of the last fault until everything has arrived.
    private static let settleTimeout = Duration.seconds(3600)
    /// The interval of the progress checks.
    private static let progressInterval = Duration.seconds(5)
    /// The maximum number of events for each step of the scenario.
    private static let maxEventsPerStep = 20_000
    /// The maximum number of further events for each message.
    private static let maxEventsPerMessage = 200

    private let scenario: Scenario
    private let world: VirtualWorld
    private let rooms: [RoomName]
    private let devices: [SimulatedDevice]
    private let keepsRecordings: Bool
    private let ledger: Ledger
    private let faults: SimulatedFaults
    private var requests = RequestLedger()
    private var members = MemberLedger()
    private var history: HistoryLedger
    private var attachments = AttachmentLedger()
    /// The roles of rooms; nil if the relay keeps none.
    private var roles: RoleLedger?
    /// The operations of `settleRoles` that are not performed.
    private var awaitedOperations: Set<RequestLedger.Key> = []
    /// The room policy of a relay that keeps roles.
    private var rolePolicy: ((RoomAuthorizationRequest) -> RoomDecision?)?
    private var random: SeededRandom
    /// The counters at the start of the idle period.
    private var baseline: IdleBaseline?
    /// Whether connections may end because their credentials expire.
    private var mayCredentialsExpire: Bool
    /// Answered requests at the start of the final round; nil before.
    private var answeredBeforeFinalRound: Int?

    /// The connections and retransmissions at the start of the idle period.
    private struct IdleBaseline {
        var connectionCount: Int
        var retransmissions: [UInt64]
    }

    /// Runs a scenario to its end, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - store: The relay's store; nil for one in memory.
    ///   - outbox: Makes the outbox of each device; nil for virtual disks only.
    ///   - tls: Certificates, if the carrier uses TLS; a carrier without order does not.
    package static func run(
        _ scenario: Scenario, keepsTrace: Bool = false, store: (any SimulatedStore)? = nil,
        outbox: (() -> any SimulatedOutbox)? = nil, tls: VirtualTLS? = nil
    ) -> RunResult {
        Simulation(scenario, keepsTrace: keepsTrace, store: store, outbox: outbox, tls: tls).run()
    }

    private init(
        _ scenario: Scenario, keepsTrace: Bool, store: (any SimulatedStore)?, outbox: (() -> any SimulatedOutbox)?,
        tls: VirtualTLS?
    ) {
        self.scenario = scenario
        mayCredentialsExpire = scenario.credentialLifetime != nil
        random = SeededRandom(seed: ~scenario.seed)
        history = HistoryLedger(isShared: scenario.relayCount > 1)
        var configuration = RelayConfiguration()
        configuration.link.resumeLifetime = .seconds(60)
        idleTimeout = configuration.link.idleTimeout
        configuration.link.firstSequence = scenario.firstSequence
        configuration.link.deflatesPackets = scenario.relayDeflates
        configuration.asksRoomPolicy = scenario.policyDelay != nil || scenario.usesRoles
        if scenario.usesRoles { configuration.roomRoles = RoomRolesConfiguration() }
        let world = VirtualWorld(
            relay: configuration, relayCount: scenario.relayCount, loopCount: scenario.loopCount, seed: scenario.seed,
            tls: tls)
        self.world = world
        let rooms = (0..<scenario.roomCount).map { RoomName("room\($0)")! }
        self.rooms = rooms
        keepsRecordings = keepsTrace
        ledger = Ledger(keepsTrace: keepsTrace) { world.now }
        world.store.file = store
        for (relay, delay) in zip(world.relays, [scenario.storeDelay] + scenario.otherStoreDelays) {
            relay.storeDelay = delay
            relay.credentialLifetime = scenario.credentialLifetime
            relay.policyDelay = scenario.policyDelay ?? .zero
        }
        devices = scenario.devices.enumerated().map { number, device in
            let carrier = scenario.isReliable ? Carrier.reliable : .unreliable
            let client = world.addClient(device.account, conditions: device.conditions, carrier: carrier) {
                $0.link.firstSequence = scenario.firstSequence
                $0.link.features = device.features
                $0.link.compressesMessages = device.features.contains(.sharedDeflate)
                $0.link.limits = device.limits
            }
            client.remembers = false
            client.takesMessages = false
            if scenario.credentialLifetime != nil {
                client.credentials = .gives(Credential("token"), after: .milliseconds(50))
            }
            return SimulatedDevice(
                number: number, client: client, tail: device.tail, rooms: rooms, kinds: scenario.kinds,
                outbox: outbox?())
        }
        faults = SimulatedFaults(world, devices, rooms, ledger, seed: random.next())
    }

    private func run() -> RunResult {
        let start = world.now
        let policy = self.policy(failingUntil: start + (scenario.steps.last?.at ?? .zero))
        for relay in world.relays {
            relay.onNote = { [unowned self] in check($0) }
            relay.policy = policy
        }
        faults.onCrash = { [unowned self] in crashed($0) }
        faults.loseLog = { [unowned self] in loseLog(of: $0) }
        faults.onRelayStart = { [unowned self] in restoreRolePolicy() }
        ledger.mayBeLate = { [unowned self] in mayRefuse($0, of: $1.sender) }
        if scenario.usesRoles {
            roles = RoleLedger(administrator: devices[0].account)
            world.store.onRolesSaved = { [unowned self] in rolesSaved($0, $1) }
            rolePolicy = administered(policy)
            restoreRolePolicy()
        }
        if scenario.relayCount > 1 { world.store.onAppended = { [unowned self] in checkLog(of: $0) } }
        for device in devices {
            device.client.onOutput = { [unowned self, unowned device] in check($0, on: device) }
            device.start(in: world)
        }
        for step in scenario.steps { world.after(step.at) { [unowned self] in perform(step.action) } }
        run(for: scenario.steps.last?.at ?? .zero)
        settleRoles()
        while faults.activeCount > 0, holds { run(for: .seconds(1)) }
        // Transient frames that the bus loses are not sent again.
        world.bus?.heal()
        letCredentialsExpire()
        let settlingTime = settle()
        mayCredentialsExpire = false
        for check in [compare, publishAfterMappingLoss, runFinalRound, awaitQuiescence, checkIdle, leaveAll] where holds
        {
            check()
        }
        for device in devices {
            checkRecording(of: device)
            device.client.onOutput = nil
        }
        for relay in world.relays { relay.onNote = nil }
        world.store.onRolesSaved = nil
        world.store.onAppended = nil
        for failure in world.tls?.failures ?? [] { ledger.fail(.correctPeersAreServed, failure) }
        var result = ledger.result(seed: scenario.seed)
        result.virtualTime = world.now - start
        result.settlingTime = settlingTime
        result.faultCount = scenario.faultCount
        result.connectionCount = world.connectionCount
        (result.answerCount, result.pageCount) = (requests.answeredCount, history.pageCount)
        result.transferCount = attachments.finishedCount
        if keepsRecordings { result.recordings = devices.map { $0.client.engine.recording(now: world.now) } }
        (result.handshakeCount, result.resumptionCount) = (
            world.tls?.handshakeCount ?? 0, world.tls?.resumptionCount ?? 0
        )
        return result
    }

    /// Runs the recorded events of a device through the machine of connections again.
    private func checkRecording(of device: SimulatedDevice) {
        do throws(RecordingError) {
            let file = device.client.engine.recording(now: world.now)
            guard let difference = try FlightReplay(FlightRecording(parsing: file)).difference else { return }
            ledger.fail(.recordingsReplay, "device \(device.id): \(difference)")
        } catch {
            ledger.fail(.recordingsReplay, "device \(device.id): \(error)")
        }
    }

    /// Waits until the connections end whose credentials could not be renewed because of faults. Later renewals
    /// succeed. An unordered carrier can lose a renewal, so credentials no longer expire there.
    private func letCredentialsExpire() {
        guard let lifetime = world.relay.credentialLifetime else { return }
        if !scenario.isReliable { for relay in world.relays { relay.credentialLifetime = nil } }
        run(for: lifetime)
    }

    /// A relay that replaces another has no policy of its own.
    private func restoreRolePolicy() {
        guard let rolePolicy else { return }
        for relay in world.relays { relay.policy = rolePolicy }
    }

    /// Records the messages that the store has gained in a room since the last call.
    private func checkLog(of room: RoomName) {
        let log = world.store.log[room] ?? []
        ledger.logs.begin(room, as: world.store.logID(room))
        let count = ledger.logs[room].count
        guard log.count >= count else { return ledger.fail(.acceptedIsDurable, "\(room) has lost messages") }
        guard log.count > count else { return }
        ledger.stored(log[count...], in: room)
        guard let roles else { return }
        for entry in log[count...] where entry.device.rawValue != 0 {
            // A relay admits a waiting message again by the roles that another relay has saved.
            let end = scenario.relayCount > 1 ? wallClock : entry.acceptedAt
            if !roles.mayHavePublished(entry.sender, in: room, from: min(entry.acceptedAt, end), to: end) {
                ledger.fail(.rolesAreEnforced, "\(entry.sender) has published \(entry.offset) of \(room)")
            }
        }
    }

    /// The store loses the log of a room. The next log is checked from its start.
    private func loseLog(of room: RoomName) {
        checkLog(of: room)
        world.store.loseLog(of: room)
        ledger.replacedLog(of: room, by: world.store.logID(room), upTo: 0)
        members.removeRoom(room)
    }

    /// The process of a device has crashed. Returns the actions of the next one.
    private func crashed(_ device: SimulatedDevice) -> () -> Void {
        checkRecording(of: device)
        requests.removeDevice(device.id)
        let transfers = attachments.removeDevice(device.id)
        roles?.removeDevice(device.id)
        members.removeDevice(device.id)
        return { [unowned self] in for work in transfers { begin(work, on: device) } }
    }

    /// A room policy that permits everything, for some seconds or without end, and fails at times.
    private func policy(failingUntil end: Instant) -> (RoomAuthorizationRequest) -> RoomDecision? {
        var random = SeededRandom(seed: scenario.seed ^ 0x70_6F_6C_69_63_79)
        return { [unowned self] _ in
            if random.next() % 8 == 0, world.now < end { return nil }
            let validity = random.next() % 3 == 0 ? nil : Duration.seconds(Int64(1 + random.next() % 60))
            return .granted(.all, validFor: validity)
        }
    }

    /// Whether the run continues: there is no violation so far, and the task is not cancelled.
    var holds: Bool { ledger.violations.isEmpty && !Task.isCancelled }

    private var maxEvents: Int {
        Simulation.maxEventsPerStep * (scenario.steps.count + 10) + Simulation.maxEventsPerMessage
            * scenario.messageCount
    }

    /// Advances time and checks progress at intervals.
    func run(for time: Duration) {
        let end = world.now + time
        while world.now < end, holds {
            world.run(until: min(end, world.now + Simulation.progressInterval)) { [unowned self] in
                world.stepCount > maxEvents
            }
            checkProgress()
            guard world.stepCount > maxEvents else { continue }
            return ledger.fail(.eventsAreBounded, "more than \(maxEvents) events")
        }
    }

    // MARK: - Progress

    private func checkProgress() {
        let now = world.now
        for device in devices {
            let condition = condition(of: device)
            guard !device.progress.observe(condition, count: device.progressCount, now: now) else { continue }
            let detail =
                switch condition {
                case .disconnected: "is not connected"
                case _ where device.hasUnsettled: "has messages to send"
                default: "has messages to get: \(allMissing(on: device))"
                }
            ledger.fail(.progressIsMade, "device \(device.id) \(detail), for \(ProgressMonitor.limit)")
        }
        if let request = requests.overdue(now: now) {
            ledger.fail(.requestsEndOnce, "\(request) has no outcome")
        }
    }

    private func condition(of device: SimulatedDevice) -> ProgressMonitor.Condition {
        guard device.isRunning, !faults.isHindering(device), device.client.isReachable,
            world.areRelaysUp
        else { return .exempt }
        guard device.client.engine.status.isOnline else { return .disconnected }
        // A client notices a broken path after a heartbeat.
        guard world.isPathIntact(of: device.client) else { return .exempt }
        let isBusy = device.hasUnsettled || rooms.contains { missing($0, on: device) != nil }
        return isBusy ? .busy : .exempt
    }

    private func allMissing(on device: SimulatedDevice) -> String {
        let places = rooms.compactMap { room in
            missing(room, on: device).map { "\(device.lastKnown(room)) of \($0) in \(room)" }
        }
        return places.joined(separator: ", ")
    }

    /// The first offset that the device must still deliver.
    func missing(_ room: RoomName, on device: SimulatedDevice) -> UInt64? {
        let last = (world.store.log[room] ?? []).last { $0.device.rawValue != device.id }?.offset ?? 0
        let known = device.logs[room] == world.store.logID(room) ? device.lastKnown(room) : 0
        return known < last ? last : nil
    }

    // MARK: - Actions
    // The actions of a scenario on devices, paths, the relay and its store.

    /// The method of all requests.
    static let method = MethodName("echo")!

    private func perform(_ action: Scenario.Action) {
        switch action {
        case .fault(let fault): faults.act(fault)
        case .publish(let number, let room, let count, let byteCount):
            let device = devices[number]
            guard device.isRunning else { return }
            for _ in 0..<count {
                let counter = device.publish(rooms[room], byteCount: byteCount)
                ledger.sending(
                    device.text(of: counter), from: number, in: rooms[room], as: device.messageID(counter))
            }
            syncLater(device)
        case .stopTaking(let number, let time):
            let device = devices[number]
            device.isTaking = false
            faults.hinder(device, for: time) { [unowned self] in
                device.isTaking = true
                recordTaken(on: device)
                device.take(in: world)
            }
        case .suspend(let number, let room, let time): suspend(devices[number], rooms[room], time)
        case .background(let number, let time):
            let device = devices[number]
            act(device) { $0.handle(.setMode(.background), now: $1) }
            faults.hinder(device, for: time) { [unowned self] in
                act(device) { $0.handle(.enterForeground, now: $1) }
            }
        case .stop(let number, let time):
            let device = devices[number]
            act(device) { $0.handle(.stop, now: $1) }
            faults.hinder(device, for: time) { [unowned self] in act(device) { $0.handle(.start, now: $1) } }
        case .retryNow(let number): act(devices[number]) { $0.handle(.retryNow, now: $1) }
        case .read(let number, let room): read(devices[number], rooms[room])
        case .type(let number, let room): type(devices[number], rooms[room])
        case .request(let number, let other, let room, let byteCount, let timeout):
            sendRequest(devices[number], other.map { devices[$0] }, rooms[room], byteCount, timeout)
        case .cancelRequest(let number): cancelRequest(of: devices[number])
        case .close(let number, let room, let time):
            let device = devices[number]
            requests.closed(rooms[room], by: device.id, start: device.startCount)
            device.close(rooms[room], in: world)
            faults.hinder(device, for: time) { [unowned self] in
                device.open(rooms[room], in: world)
                device.sendDrafts(in: world)
            }
        case .upload(let number, let room, let byteCount, let content):
            upload(devices[number], rooms[room], byteCount, number: content)
        case .download(let number, let room, let which): download(devices[number], rooms[room], number: which)
        case .cancelTransfer(let number): cancelTransfer(of: devices[number])
        case .operate(let operation, let room): operate(operation, in: rooms[room])
        case .readHistory(let number, let room, let direction, let place):
            readHistory(devices[number], rooms[room], direction, place: place)
        }
    }

    // MARK: - Users and operators

    func read(_ device: SimulatedDevice, _ room: RoomName) {
        let offset = device.lastDelivered(room)
        guard device.isRunning, offset > 0, let id = device.rooms[room] else { return }
        members.read(device.account, room, upTo: offset)
        act(device) { $0.markRead(id, upTo: offset, now: $1) }
    }

    func type(_ device: SimulatedDevice, _ room: RoomName) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        members.typed(device.account, room)
        act(device) { engine, now in
            engine.setTyping(true, in: id, now: now)
            engine.setTyping(false, in: id, now: now)
        }
    }

    private func sendRequest(
        _ device: SimulatedDevice, _ other: SimulatedDevice?, _ room: RoomName, _ byteCount: Int, _ timeout: Duration
    ) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        let text = requests.makeText(byteCount: byteCount)
        let deadline = world.now + timeout
        // The outcome may occur in this call.
        world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    Simulation.method, content: Message.textContent(text), to: other?.account, in: id,
                    deadline: timeout, now: now)
            else { return }
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            requests.sent(key, in: room, text: text, deadline: deadline)
        }
    }

    private func cancelRequest(of device: SimulatedDevice) {
        guard device.isRunning, let number = requests.openNumbers(of: device.id, start: device.startCount).last
        else { return }
        requests.cancelled(RequestLedger.Key(device: device.id, start: device.startCount, number: number))
        act(device) { $0.cancelRequest(number, now: $1) }
    }

    func act(_ device: SimulatedDevice, _ event: (inout ClientEngine, Instant) -> Void) {
        if device.isRunning { world.act(device.client, event) }
    }

    private func suspend(_ device: SimulatedDevice, _ room: RoomName, _ time: Duration) {
        guard let id = device.rooms[room] else { return }
        act(device) { $0.suspend(id, now: $1) }
        faults.hinder(device, for: time) { [unowned self] in
            guard let id = device.rooms[room] else { return }
            act(device) { $0.resume(id, now: $1) }
        }
    }

    // MARK: - Outputs
    // Checks the outputs of clients and the relay against the invariants.

    /// The codes that end connections of correct peers, because of the network, the host or the operator.
    private static let benignCodes: Set<ErrorCode> = [
        .none, .handshakeTimeout, .authTimeout, .ackTimeout, .slowConsumer, .staleEpoch, .frameTimeout, .idleTimeout,
        .unexpectedEOF, .resumeRejected, .revoked, .replaced,
    ]

    /// The report of a revocation can arrive when the account is admitted again. The user then starts the client again.
    private func startLater(_ device: SimulatedDevice) {
        world.after(.seconds(1)) { [unowned self] in
            guard device.isRunning, world.relay.refusals[device.account] == nil else { return }
            act(device) { $0.handle(.start, now: $1) }
        }
    }

    /// Credentials may expire while faults hinder their renewal.
    private func isBenign(_ code: ErrorCode) -> Bool {
        Simulation.benignCodes.contains(code) || code == .unauthenticated && mayCredentialsExpire
    }

    func check(_ output: ClientOutput, on device: SimulatedDevice) {
        let now = world.now
        switch output {
        case .room(let id, let event):
            guard let room = device.name(of: id) else { return }
            check(event, in: room, on: device)
        case .link(.status(let status)):
            if status.state == .online, let link = device.client.engine.linkID, let epoch = status.epoch {
                device.link = SimulatedDevice.LinkEpoch(link: link, epoch: Epoch(rawValue: epoch))
            }
            if let code = status.lastCode, !isBenign(code) {
                ledger.fail(.correctPeersAreServed, "device \(device.id): \(code)")
            }
            if case .stopped(.some) = status.state { startLater(device) }
            ledger.note(device.number, "status", status.epoch.map(UInt64.init) ?? 0, status.reconnects)
        case .replaceDevice:
            ledger.fail(.correctPeersAreServed, "device \(device.id): its counters count as used before")
        case .link(.stopped): ledger.note(device.number, "stopped")
        case .link(.connect):
            ledger.note(device.number, "connects")
            ledger.connecting(device.number)
        case .link(.startBackup): ledger.note(device.number, "connects a backup")
        case .link(.close(_, let graceful)): ledger.note(device.number, "closes", graceful ? 1 : 0)
        case .response(let number, let outcome):
            ledger.note(device.number, "receives the outcome of", number)
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            if !operationEnded(key, outcome), !historyEnded(key, outcome) {
                ledger.fail(.requestsEndOnce, ifAny: requests.ended(key, outcome, at: now))
            }
        case .transfer(let id, let event): check(event, of: id, on: device)
        case .link(.transmit), .link(.fetchCredential), .link(.answerChallenge), .account: break
        }
    }

    private func check(_ event: RoomEvent, in room: RoomName, on device: SimulatedDevice) {
        checkLog(of: room)
        switch event {
        case .message(let message, _):
            let offset = message.relay?.offset ?? 0
            ledger.note(
                device.number, "delivers", offset, message.relay?.device.rawValue ?? 0, message.counter)
            let stamp = message.relay
            let id = MessageID(
                sender: stamp?.sender ?? device.account, device: stamp?.device ?? DeviceID(rawValue: 0),
                counter: message.counter)
            ledger.delivered(
                id, message.text, at: RoomCursor(log: device.logs[room], offset: offset), in: room,
                after: device.lastDelivered(room), to: device.number)
            device.deliver(offset, in: room)
            syncLater(device)
        case .accepted(let run):
            ledger.note(device.number, "receives accepted", run.firstCounter, UInt64(run.count))
            for (index, counter) in run.counters.enumerated() {
                let offset = run.firstOffset == 0 ? 0 : run.firstOffset + UInt64(index)
                let text = device.text(of: counter)
                // A message that was refused counts as taken when its device has published later ones.
                if offset > 0 || !mayRefuse(counter, of: device) {
                    ledger.accepted(device.messageID(counter), at: offset, in: room, of: device.logs[room])
                    if device.logs[room] == ledger.logs.id(of: room) { ledger.set(text, .isStored) }
                }
                device.accepted(counter)
            }
            syncLater(device)
        case .failed(_, .closed): break
        // The room is closed, or ends the session, while a message has no answer (C-74).
        case .failed(_, .outcomeUnknown) where scenario.usesRoles || device.rooms[room] == nil: break
        case .failed(let counter, .refused(.forbidden, _)) where mayRefuse(counter, of: device):
            ledger.note(device.number, "receives a refusal", counter)
            ledger.set(device.text(of: counter), .isNotStored)
            device.accepted(counter)
            syncLater(device)
        // The message is sent again when the room is open again.
        case .failed(_, .refused(.kicked, _)) where scenario.usesRoles: break
        case .failed(_, .refused(.roomForbidden, _)) where scenario.usesRoles: break
        case .failed(let counter, let failure):
            ledger.fail(.noMessageFails, "device \(device.id), message \(counter): \(failure)")
        case .gap(let offsets):
            ledger.note(device.number, "receives a gap", offsets.lowerBound, offsets.upperBound)
            ledger.skipped(
                offsets, in: room, of: device.logs[room],
                first: device.logs[room].flatMap { world.store.firstOffset(of: $0, in: room) } ?? 1,
                limit: device.client.configuration.link.limits.maxMessageByteCount, by: device.number)
            device.skip(offsets, in: room)
        case .delayed, .closed(nil): break
        case .closed(let code) where scenario.usesRoles: removed(device, from: room, code)
        case .closed(let code):
            ledger.fail(
                .noMessageFails, "\(room) is closed to device \(device.id): \(String(describing: code))")
        case .logReplaced(let previous, _, _):
            ledger.note(device.number, "receives a lost log", previous.offset)
            device.recordLogLoss(of: room)
            ledger.reportedLoss(of: previous, in: room, to: device.number)
        case .opened(let head, _, let accounts, let log, _):
            ledger.note(device.number, "opens", head)
            members.opened(room, by: device.id, members: accounts)
            if !device.recordOpening(of: room, log, lastOffset: head) {
                ledger.fail(.logLossIsReported, "device \(device.id) opened another log of \(room)")
            }
        case .progress(let progress):
            ledger.note(device.number, "receives a receipt", UInt64(progress.mark.rawValue), progress.upTo)
            ledger.fail(.receiptsAreCorrect, ifAny: members.receive(progress, by: device.id, in: room))
        case .typing(let sender, _):
            ledger.note(device.number, "receives typing")
            ledger.fail(.presenceIsReported, ifAny: members.receiveTyping(of: sender, by: device.id, in: room))
        case .presence(let account, let presence):
            ledger.note(device.number, "receives presence", UInt64(presence.rawValue))
            members.receive(presence, of: account, by: device.id, in: room)
        case .request(let request):
            ledger.note(device.number, "receives a request", request.id.correlation)
            answer(request, in: room, on: device)
        case .sent, .transient, .requestCancelled: break
        }
    }

    /// The application usually answers with the request's content. It sometimes refuses or does not answer.
    private func answer(_ request: IncomingRequest, in room: RoomName, on device: SimulatedDevice) {
        guard let content = try? MessageContent(kind: .text, bytes: request.content ?? []), let text = content.text
        else { return ledger.fail(.requestsEndOnce, "a request has no content") }
        ledger.fail(.requestsEndOnce, ifAny: requests.received(text))
        let chance = isFinalRound ? 0 : random.next() % 10
        guard chance < 9 else { return }
        let delay = Duration.milliseconds(isFinalRound ? 0 : random.next() % 3000)
        let startCount = device.startCount
        world.after(delay) { [unowned self] in
            guard device.isRunning, device.startCount == startCount, let id = device.rooms[room] else { return }
            world.act(device.client) { engine, now in
                engine.respond(
                    to: request.id, in: id, status: chance < 7 ? .none : .forbidden,
                    content: chance < 7 ? request.content : nil, now: now)
            }
        }
    }

    func check(_ note: RelayNote) {
        switch note {
        case .link(.linked(let key, let link)):
            guard let device = device(key) else { return }
            if let ended = device.ended, ended.at == world.now, ended.wasKnown, checks(.links) {
                ledger.fail(.linksAreResumed, "device \(device.id) started a link beside its own")
            }
            // The device may not receive the welcome.
            device.link = nil
            device.linkAtRelay = SimulatedDevice.LinkEpoch(link: link, epoch: Epoch(rawValue: 1))
        case .link(.resumed(let key, let link, let epoch)):
            device(key)?.linkAtRelay = SimulatedDevice.LinkEpoch(link: link, epoch: epoch)
        case .link(.ended(let key, let link)):
            guard let device = device(key) else { return }
            // A hello that was delayed on an earlier connection may have begun the link that ends (C-39).
            device.ended = (world.now, device.link?.link == link && device.link == device.linkAtRelay)
            if device.linkAtRelay?.link == link { device.linkAtRelay = nil }
        case .link(.faulted(let code)):
            if !Simulation.benignCodes.contains(code) {
                ledger.fail(.correctPeersAreServed, "the relay reported \(code)")
            }
        case .roomOperation(let record):
            if record.method == .kick, record.status == .none, let account = record.target {
                roles?.kicked(account, from: record.room)
            }
        case .rolesInvalid(let room, let error):
            ledger.fail(.rolesAreEnforced, "the roles of \(room) are not valid: \(error)")
        case .link(.suspended), .link(.refused), .roomRefused, .roomCreated, .administered: break
        }
    }

    private func device(_ key: DeviceKey) -> SimulatedDevice? {
        devices.first { $0.id == key.device.rawValue }
    }

    private func syncLater(_ device: SimulatedDevice) {
        guard !device.isSyncing else { return }
        device.isSyncing = true
        world.after(Simulation.syncDelay) { [unowned self] in
            guard device.isSyncing else { return }
            device.isSyncing = false
            guard !device.failsSyncs else { return syncLater(device) }
            recordTaken(on: device)
            device.sync(in: world)
        }
    }

    /// The application may send receipts for messages that it is about to take.
    private func recordTaken(on device: SimulatedDevice) {
        guard device.isTaking else { return }
        for message in device.client.untaken {
            guard let room = device.name(of: message.room) else { continue }
            members.taken(device.account, room, upTo: message.cursor.offset)
        }
    }

    // MARK: - Attachments
    // Uploads and downloads of attachments, and the checks of their events.

    /// A device uploads an attachment, whose bytes the number determines.
    private func upload(_ device: SimulatedDevice, _ room: RoomName, _ byteCount: Int, number: UInt64) {
        guard device.isRunning else { return }
        var random = SeededRandom(seed: number)
        let content = (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let digest = attachments.add(content)
        begin(AttachmentLedger.Work(room: room, digest: digest, isUpload: true), on: device)
    }

    /// A device downloads one of the room's attachments.
    private func download(_ device: SimulatedDevice, _ room: RoomName, number: Int) {
        guard device.isRunning, let complete = attachments.complete[room], !complete.isEmpty else { return }
        let digest = complete[number % complete.count]
        begin(AttachmentLedger.Work(room: room, digest: digest, isUpload: false), on: device)
    }

    func begin(_ work: AttachmentLedger.Work, on device: SimulatedDevice) {
        guard let id = device.rooms[work.room], let bytes = attachments.bytes[work.digest] else { return }
        let byteCount = UInt64(bytes.count)
        let kind: TransferKind =
            work.isUpload
            ? .upload(work.digest, byteCount: byteCount, mediaType: nil)
            : .download(work.digest, 0..<byteCount, byteCount: byteCount)
        world.act(device.client) { engine, now in
            guard let transfer = try? engine.transfer(kind, in: id, now: now) else { return }
            device.client.uploads[transfer] = work.isUpload ? bytes : nil
            attachments.begun(key(transfer, of: device), work, of: device.account)
        }
    }

    private func key(_ transfer: TransferID, of device: SimulatedDevice) -> AttachmentLedger.Key {
        AttachmentLedger.Key(device: device.id, start: device.startCount, transfer: transfer)
    }

    /// A device cancels its latest transfer.
    private func cancelTransfer(of device: SimulatedDevice) {
        guard let transfer = device.client.uploads.keys.max(by: { $0.rawValue < $1.rawValue }) else { return }
        act(device) { $0.cancel(transfer, now: $1) }
    }

    func check(_ event: TransferEvent, of transfer: TransferID, on device: SimulatedDevice) {
        let key = key(transfer, of: device)
        ledger.note(device.number, "transfers", transfer.rawValue)
        let fault = attachments.received(
            event, of: key, world.store.attachments, downloaded: device.client.downloads[transfer])
        if let fault { ledger.fail(.attachmentsAreWhole, "device \(device.id): \(fault)") }
        switch event {
        case .finished, .failed: device.progressed()
        case .began, .progressed, .received: device.progressed()
        case .needs: break
        }
    }

    // MARK: - History
    // Requests for pages of history, and the checks of their answers.

    /// The timeout of a request.
    private static let historyTimeout = Duration.seconds(20)

    /// A device requests a page. `place` is a number of messages before the last one that the device knows.
    func readHistory(_ device: SimulatedDevice, _ room: RoomName, _ direction: Scenario.Direction, place: Int) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        let known = device.lastKnown(room)
        let offset = known - min(known, UInt64(place))
        let log = device.logs[room]
        let time = ledger.logs.entry(at: offset, in: room, of: log)?.stored.acceptedAt ?? wallClock
        let query =
            switch direction {
            case .before: HistoryQuery(.before(offset + 1), limit: 1 + place % 70, log: log)
            case .after: HistoryQuery(.after(offset), limit: 1 + place % 70, log: log)
            case .time: HistoryQuery(.acceptedFrom(time + UInt64(place % 2)), limit: 5)
            }
        // The outcome may occur in this call.
        world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    HistoryQuery.method, content: query.content, to: nil, in: id, deadline: Simulation.historyTimeout,
                    now: now)
            else { return }
            history.sent(
                RequestLedger.Key(device: device.id, start: device.startCount, number: number), query, in: room,
                world.store.logID(room), count: world.store.log[room]?.count ?? 0)
        }
    }

    /// The outcome of a request for a page; false for another request.
    private func historyEnded(_ key: RequestLedger.Key, _ outcome: RequestOutcome) -> Bool {
        // A page may have messages whose acceptances have not arrived.
        if let room = history.room(of: key) { checkLog(of: room) }
        let (fault, isKnown) = history.ended(key, outcome, ledger.logs)
        if let fault { ledger.fail(.pagesAreOfTheLog, fault) }
        return isKnown
    }

    // MARK: - Roles
    // Operations on rooms with roles, and the checks of their effects.

    /// The timeout of an operation.
    private static let operationTimeout = Duration.seconds(20)
    /// The maximum time until a device opens a room again that it was removed from.
    private static let reopenDelay = Duration.seconds(5)
    /// The maximum time until all roles are removed.
    private static let rolesTimeout = Duration.seconds(3600)

    /// The device whose account administers all rooms.
    private var administrator: SimulatedDevice { devices[0] }

    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 { world.wallClock }

    /// A room policy that permits the first device's account to administer all rooms.
    private func administered(
        _ policy: @escaping (RoomAuthorizationRequest) -> RoomDecision?
    ) -> (RoomAuthorizationRequest) -> RoomDecision? {
        let account = administrator.account
        return { request in
            let decision = policy(request)
            guard request.identity.account == account, case .granted(let permissions, let validity) = decision else {
                return decision
            }
            return .granted(permissions.union(.administer), validFor: validity)
        }
    }

    /// Requests an operation.
    @discardableResult
    func operate(_ operation: RoomOperation, in room: RoomName) -> RequestLedger.Key? {
        let device = administrator
        guard device.isRunning, let id = device.rooms[room] else { return nil }
        return world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    operation.method.name, content: operation.content, to: nil, in: id,
                    deadline: Simulation.operationTimeout, now: now)
            else { return nil }
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            roles?.sent(key, operation, in: room, at: wallClock)
            return key
        }
    }

    /// The outcome of an operation; false for another request.
    private func operationEnded(_ key: RequestLedger.Key, _ outcome: RequestOutcome) -> Bool {
        guard let (isDone, fault) = roles?.ended(key, outcome) else { return false }
        if isDone { awaitedOperations.remove(key) }
        if let fault { ledger.fail(.rolesAreEnforced, fault) }
        return true
    }

    /// The store has saved roles.
    private func rolesSaved(_ room: RoomName, _ bytes: [UInt8]) {
        if roles?.saved(bytes, of: room, at: wallClock) == false {
            ledger.fail(.rolesAreEnforced, "the saved roles of \(room) cannot be decoded")
        }
    }

    /// Whether the relay may refuse a message of a device.
    private func mayRefuse(_ counter: UInt64, of device: SimulatedDevice) -> Bool {
        ledger.sent[device.text(of: counter)].map { mayRefuse($0, of: device.account) } ?? false
    }

    private func mayRefuse(_ record: Ledger.Record, of account: AccountName) -> Bool {
        let sentAt = checks(.roles) ? UInt64(Int64(record.sentAt.nanoseconds / 1_000_000) + world.wallClockOffset) : 0
        return roles?.wasSilenced(account, in: record.room, since: sentAt) ?? false
    }

    /// Handles the permanent end of a device's session by the relay. The device opens the room again after a delay.
    func removed(_ device: SimulatedDevice, from room: RoomName, _ code: ErrorCode?) {
        guard roles?.mayExpel(device.account, from: room, code) == true else {
            return ledger.fail(
                .noMessageFails, "\(room) is closed to device \(device.id): \(String(describing: code))")
        }
        ledger.note(device.number, "is removed")
        requests.closed(room, by: device.id, start: device.startCount)
        device.removed(from: room)
        let milliseconds = Simulation.reopenDelay.nanoseconds / 1_000_000
        let delay = Duration.milliseconds(random.next() % UInt64(milliseconds))
        faults.hinder(device, for: delay) { [unowned self] in
            device.open(room, in: world)
            device.sendDrafts(in: world)
        }
    }

    /// Removes all roles, so that all messages can arrive. A last operation on the session of each room follows all
    /// earlier ones, so its outcome shows that no earlier operation is in flight.
    private func settleRoles() {
        guard scenario.usesRoles else { return }
        let start = world.now
        var isClean = false
        while !isClean, holds {
            guard world.now - start < Simulation.rolesTimeout else {
                return ledger.fail(.progressIsMade, "roles are not removed")
            }
            awaitedOperations = []
            var areSent = true
            for room in rooms where roles?.roles(of: room) != nil {
                for operation in removals(in: room) + [.setAccess(.open)] {
                    if let key = operate(operation, in: room) { awaitedOperations.insert(key) } else { areSent = false }
                }
            }
            run(for: Simulation.operationTimeout + .seconds(1))
            isClean = areSent && awaitedOperations.isEmpty && rooms.allSatisfy { removals(in: $0).isEmpty }
        }
    }

    /// The operations that remove all restrictions of accounts.
    private func removals(in room: RoomName) -> [RoomOperation] {
        guard let roles = roles?.roles(of: room) else { return [] }
        return roles.standings(after: nil, maxCount: .max).flatMap { standing -> [RoomOperation] in
            var operations: [RoomOperation] = []
            if standing.isBanned { operations.append(.unban(standing.account)) }
            if standing.mutedUntil > wallClock { operations.append(.unmute(standing.account)) }
            if standing.role == .reader { operations.append(.setRole(nil, of: standing.account)) }
            return operations
        } + (roles.access == .open ? [] : [.setAccess(.open)])
    }

    // MARK: - Settling
    // The checks without faults: everything arrives, all functions work again, and no state is left over.

    /// The time for which idle links are observed.
    private static let idleDuration = Duration.seconds(600)
    /// The maximum time until nothing is in transit. On an unordered carrier retransmissions take longer.
    private var quiescenceTimeout: Duration { .seconds(scenario.isReliable ? 65 : 180) }
    /// The time until a relay closes a connection on which nothing arrives.
    private let idleTimeout: Duration
    /// The maximum time until the relay has removed all links after goodbye: a link's lifetime and a margin.
    private static let leaveTimeout = Duration.seconds(120)

    /// Waits until everything has arrived and returns the time that it took.
    func settle() -> Duration {
        let start = world.now
        while !isDone, world.now - start < Simulation.settleTimeout, holds { run(for: .seconds(1)) }
        return world.now - start
    }

    /// Drops the NAT mappings of an idle device before another device publishes.
    private func publishAfterMappingLoss() {
        run(for: .seconds(60))
        world.dropNATMappings(of: devices[0].client)
        perform(.publish(device: 1, room: 0, count: 1, byteCount: 10))
        _ = settle()
        compare()
    }

    /// Records the counters that must not change while the links are idle.
    private func recordBaseline() {
        baseline = IdleBaseline(
            connectionCount: world.connectionCount,
            retransmissions: devices.map { $0.client.engine.counters.retransmissions })
    }

    /// Checks that idle links stay connected and retransmit nothing.
    private func checkIdle() {
        guard scenario.isReliable, let baseline else { return }
        for device in devices where world.openConnectionCount(of: device.client) > 1 && checks(.links) {
            let count = world.openConnectionCount(of: device.client)
            ledger.fail(.oneConnectionPerDevice, "device \(device.id) has \(count) connections")
        }
        run(for: Simulation.idleDuration)
        if world.connectionCount != baseline.connectionCount {
            let count = world.connectionCount - baseline.connectionCount
            ledger.fail(.idleLinksStayIdle, "\(count) new connections")
        }
        for (device, before) in zip(devices, baseline.retransmissions)
        where device.client.engine.counters.retransmissions != before {
            ledger.fail(.idleLinksStayIdle, "device \(device.id) retransmits acknowledged frames")
        }
    }

    private var isDone: Bool {
        guard faults.activeCount == 0, attachments.openCount == 0,
            devices.allSatisfy({ !$0.hasUnsettled && !$0.hasUnsynced })
        else { return false }
        return devices.allSatisfy { device in
            rooms.allSatisfy { missing($0, on: device) == nil && knowsLog(of: $0, on: device) }
        }
    }

    /// Whether the messages that a device has received are of the room's current log.
    private func knowsLog(of room: RoomName, on device: SimulatedDevice) -> Bool {
        device.deliveredOffsets(room).isEmpty || device.logs[room] == world.store.logID(room)
    }

    private func compare() {
        for room in rooms {
            checkLog(of: room)
            ledger.checkOutcomes(in: room)
        }
        if attachments.openCount > 0 {
            let detail = "\(attachments.openCount) transfers have not ended"
            ledger.fail(.attachmentsAreWhole, detail)
        }
        for device in devices {
            if device.hasUnsettled {
                let detail =
                    "device \(device.id): \(device.acceptedCounters.count) of \(device.drafts.records.count) accepted"
                ledger.fail(.everythingArrives, detail)
            }
            for room in rooms {
                let skipped = device.skipped[room] ?? []
                let others = (world.store.log[room] ?? []).filter { $0.device.rawValue != device.id }
                let expected = others.map(\.offset).filter { !skipped.contains($0) }
                let delivered = device.deliveredOffsets(room).filter { !skipped.contains($0) }
                guard delivered != expected else { continue }
                let detail = "device \(device.id) delivered \(delivered.count) of \(expected.count) in \(room)"
                ledger.fail(.everythingArrives, detail)
            }
        }
    }

    // MARK: - Several relays

    /// A check that does not hold between relays.
    private enum OneRelayCheck {
        case links, roles
    }

    /// The checks that runs with several relays leave out, because a function does not reach members at other relays,
    /// or not at once.
    private static let exemptions: [OneRelayCheck: String] = [
        .links: "a relay refuses to resume a link of another relay, which may have it until its connection is idle",
        .roles: "a relay learns of changed roles with a delay, and refuses until then what they permit",
    ]

    private func checks(_ check: OneRelayCheck) -> Bool {
        scenario.relayCount == 1 || Simulation.exemptions[check] == nil
    }

    /// The rooms whose copies in relays differ from the store.
    private func differences() -> [String] {
        guard scenario.relayCount > 1 else { return [] }
        return world.relays.enumerated().flatMap { number, relay in
            relay.loops.revisions.filter { $0 != world.store.revision(of: $0.room) }
                .map { "relay \(number) has \($0.room) up to \($0.lastOffset), roles \($0.rolesVersion)" }
        }
    }

    // MARK: - Quiescence

    /// Waits until nothing is in transit. Reports the remaining state at the timeout.
    private func awaitQuiescence() {
        let start = world.now
        run(for: .seconds(60))
        var faults = remainingState()
        while !faults.isEmpty, world.now - start < quiescenceTimeout, holds {
            run(for: .seconds(1))
            faults = remainingState()
        }
        for fault in faults.prefix(4) { ledger.fail(.nothingIsRetained, fault) }
        if faults.isEmpty, !scenario.usesRoles { checkOnline() }
    }

    /// State of both ends that remains although nothing is in transit, and differences of their credit.
    private func remainingState() -> [String] {
        var faults = world.relays.flatMap { $0.loops.quiescence() } + differences()
        for device in devices {
            faults += device.client.engine.quiescence().faults
            if !device.client.engine.status.isOnline { faults.append("device \(device.id) is not online") }
            let tables = world.relays.compactMap { $0.loops.creditTable(of: device.key) }
            if tables.isEmpty { faults.append("device \(device.id) has no link") }
            // A relay that the device has left may have a link of it, too.
            let differences = tables.map { device.client.engine.creditTable.differences(from: $0) }
            let least = differences.min { $0.count < $1.count } ?? []
            faults += least.map { "device \(device.id), \($0)" }
        }
        if let count = roles?.openCount, count > 0 { faults.append("\(count) operations without an outcome") }
        if attachments.openCount > 0 { faults.append("\(attachments.openCount) transfers have not ended") }
        if requests.openCount > 0 { faults.append("\(requests.openCount) requests without an outcome") }
        return faults
    }

    /// Stops all devices and checks that no state remains.
    private func leaveAll() {
        let first = devices[0]
        let isAtOneRelay = hasOneLink(first)
        leave(first)
        run(for: .seconds(10))
        if scenario.isReliable, devices.count(where: { $0.account == first.account }) == 1, isAtOneRelay {
            checkPresence(of: first.account) { $0 == .left }
        }
        for device in devices.dropFirst() { leave(device) }
        run(for: checks(.links) ? Simulation.leaveTimeout : Simulation.leaveTimeout + idleTimeout)
        for device in devices {
            guard case .stopped(nil) = device.client.engine.status.state else {
                ledger.fail(.nothingIsRetained, "device \(device.id) does not stop")
                continue
            }
            if let deadline = device.client.engine.deadline {
                let time = deadline.nanoseconds / 1_000_000
                let detail = "device \(device.id) has stopped, and a timer at \(time) ms"
                ledger.fail(.nothingIsRetained, detail)
            }
        }
        let left = world.relays.reduce(RelayStatistics()) { $0 + $1.loops.statistics }
        if left.connections + left.links + left.suspendedLinks + left.rooms > 0 {
            let detail = "\(left.connections) connections, \(left.links) links, \(left.rooms) rooms when all have left"
            ledger.fail(.nothingIsRetained, detail)
        } else if let deadline = world.relays.compactMap(\.loops.deadline).min() {
            let time = deadline.nanoseconds / 1_000_000
            ledger.fail(.nothingIsRetained, "the relay has nothing, and a timer at \(time) ms")
        }
    }

    private func leave(_ device: SimulatedDevice) {
        device.activeFaultCount += 1
        act(device) { $0.handle(.stop, now: $1) }
    }

    // MARK: - Final round

    /// The number of rooms in the final round.
    private static let finalRoomCount = 2

    /// A timeout beyond the wait for quiescence, so that a pending request is noticed.
    private static let finalTimeout = Duration.seconds(290)

    /// Whether the final round has started, in which applications answer at once.
    private var isFinalRound: Bool { answeredBeforeFinalRound != nil }

    private func runFinalRound() {
        let rooms = rooms.prefix(Simulation.finalRoomCount)
        for device in devices {
            perform(.close(device: device.number, room: 0, lasts: .seconds(2)))
        }
        _ = settle()
        recordBaseline()
        for device in devices {
            for room in rooms.indices { perform(.publish(device: device.number, room: room, count: 1, byteCount: 10)) }
        }
        _ = settle()
        run(for: .seconds(5))
        guard holds else { return }
        compare()
        answeredBeforeFinalRound = requests.answeredCount
        var sentCount = 0
        for device in devices {
            for room in rooms {
                read(device, room)
                if device.client.features.contains(.presence) { type(device, room) }
            }
            for other in devices where other.account != device.account && canRequest(device, other) {
                sendRequest(device, other, rooms[0], 10, Simulation.finalTimeout)
                sentCount += 1
            }
        }
        run(for: .seconds(61))
        let answeredCount = requests.answeredCount - (answeredBeforeFinalRound ?? 0)
        if answeredCount != sentCount, scenario.isReliable {
            ledger.fail(.requestsEndOnce, "\(answeredCount) of \(sentCount) requests were answered")
        }
        let peers = devices.map(MemberLedger.Peer.init)
        for room in rooms {
            for fault in members.missingReceipts(in: room, ledger.logs[room], peers) {
                ledger.fail(.receiptsAreCorrect, fault)
            }
        }
        guard scenario.isReliable else { return }
        for fault in members.missingTyping(in: rooms[0], peers) { ledger.fail(.presenceIsReported, fault) }
    }

    /// Whether the device can send requests and all devices of the other account accept them and are at one relay.
    private func canRequest(_ device: SimulatedDevice, _ other: SimulatedDevice) -> Bool {
        guard device.client.features.contains(.requests) else { return false }
        return devices.allSatisfy {
            $0.account != other.account || $0.client.features.contains(.requests) && hasOneLink($0)
        }
    }

    /// Whether no relay that the device has left has a link of it: the report of its new link may be lost.
    private func hasOneLink(_ device: SimulatedDevice) -> Bool {
        world.relays.count { $0.loops.creditTable(of: device.key) != nil } <= 1
    }

    /// Checks that no device considers another account away or left, when all have a connection and all rooms are open
    ///
    private func checkOnline() {
        guard scenario.isReliable else { return }
        for account in Set(devices.map(\.account)).sorted() {
            checkPresence(of: account) { $0 == nil || $0 == .online }
        }
    }

    /// Checks the presence of an account that every device of another account has received last.
    private func checkPresence(of account: AccountName, _ isRight: (Transient.Presence?) -> Bool) {
        for fault in members.wrongPresence(of: account, in: rooms, devices.map(MemberLedger.Peer.init), isRight) {
            ledger.fail(.presenceIsReported, fault)
        }
    }
}

extension MemberLedger.Peer {
    fileprivate init(_ device: SimulatedDevice) {
        self.init(id: device.id, account: device.account, features: device.client.features)
    }
}

extension VirtualClient {
    fileprivate var features: Features { configuration.link.features }
}
