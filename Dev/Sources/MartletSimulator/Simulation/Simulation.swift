import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// Runs a scenario with the real engines in a virtual world, and checks the invariants.
///
/// `Simulation+Steps` has the actions, `Simulation+Events` the checks of outputs, and `Simulation+Settling` the checks
/// without faults.
package final class Simulation {
    /// The result of a run.
    package struct Result: Sendable {
        /// The seed of the scenario.
        package var seed: UInt64
        /// A hash of everything that clients observed, with times.
        package var traceHash: UInt64
        /// The observations as lines, on request.
        package var trace: [String]
        /// Violations, at most eight; none if the run was cancelled.
        package var violations: [Violation]
        /// Whether the task was cancelled before the end of the run.
        package var wasCancelled: Bool
        /// Published messages that survived their device's crashes.
        package var messageCount: Int
        /// Deliveries on all devices.
        package var deliveryCount: Int
        /// Requests answered by another member.
        package var answerCount: Int
        /// Pages of history with messages.
        package var pageCount: Int
        /// Completed transfers of attachments.
        package var transferCount: Int
        /// Faults in the scenario.
        package var faultCount: Int
        /// Established connections.
        package var connectionCount: Int
        /// Completed handshakes of TLS.
        package var handshakeCount: Int
        /// Handshakes of TLS that resumed a session.
        package var resumptionCount: Int
        /// The duration in virtual time.
        package var virtualTime: Duration
        /// The virtual time from the end of the last fault until everything arrived.
        package var settlingTime: Duration
    }

    /// The duration of a sync.
    static let syncDelay = Duration.milliseconds(20)
    /// The maximum time from the end of the last fault until everything has arrived.
    static let settleTimeout = Duration.seconds(3600)
    /// The interval of the progress checks.
    static let progressInterval = Duration.seconds(5)
    /// The maximum number of events for each step of the scenario.
    static let maxEventsPerStep = 20_000
    /// The maximum number of further events for each message.
    static let maxEventsPerMessage = 200

    let scenario: Scenario
    let world: VirtualWorld
    let rooms: [RoomName]
    private(set) var devices: [SimulatedDevice] = []
    var ledger = Ledger()
    var requests = RequestLedger()
    var members = MemberLedger()
    var history = HistoryLedger()
    var attachments = AttachmentLedger()
    /// The roles of rooms; nil if the relay keeps none.
    var roles: RoleLedger?
    /// Operations on rooms that were performed.
    var operationCount = 0
    /// The room policy of a relay that keeps roles.
    private(set) var rolePolicy: ((RoomAuthorizationRequest) -> RoomDecision?)?
    var trace: Trace
    var random: SeededRandom
    var deliveryCount = 0
    /// All active faults.
    var activeFaultCount = 0
    /// Active faults that hinder all devices.
    var globalFaultCount = 0
    /// The counters at the start of the idle period.
    var baseline: IdleBaseline?
    /// Whether connections may end because their credentials expire.
    private(set) var mayCredentialsExpire: Bool
    /// Answered requests at the start of the final round; nil before.
    var answeredBeforeFinalRound: Int?

    /// The connections and retransmissions at the start of the idle period.
    struct IdleBaseline {
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
    ) -> Result {
        Simulation(scenario, keepsTrace: keepsTrace, store: store, outbox: outbox, tls: tls).run()
    }

    private init(
        _ scenario: Scenario, keepsTrace: Bool, store: (any SimulatedStore)?, outbox: (() -> any SimulatedOutbox)?,
        tls: VirtualTLS?
    ) {
        self.scenario = scenario
        mayCredentialsExpire = scenario.credentialLifetime != nil
        trace = Trace(keepsLines: keepsTrace)
        random = SeededRandom(seed: ~scenario.seed)
        var configuration = RelayConfiguration()
        configuration.resumeLifetime = .seconds(60)
        configuration.firstSequence = scenario.firstSequence
        configuration.deflatesPackets = scenario.relayDeflates
        configuration.asksRoomPolicy = scenario.policyDelay != nil || scenario.usesRoles
        if scenario.usesRoles { configuration.roomRoles = RoomRolesConfiguration() }
        world = VirtualWorld(relay: configuration, loopCount: scenario.loopCount, seed: scenario.seed, tls: tls)
        world.relay.store = store
        world.relay.storeDelay = scenario.storeDelay
        world.relay.credentialLifetime = scenario.credentialLifetime
        world.relay.policyDelay = scenario.policyDelay ?? .zero
        rooms = (0..<scenario.roomCount).map { RoomName("room\($0)")! }
        for (number, device) in scenario.devices.enumerated() {
            let carrier = scenario.isReliable ? Carrier.reliable : .unreliable
            let client = world.addClient(device.account, conditions: device.conditions, carrier: carrier) {
                $0.firstSequence = scenario.firstSequence
                $0.features = device.features
                $0.compressesMessages = device.features.contains(.sharedDeflate)
                $0.limits = device.limits
            }
            client.remembers = false
            client.takesMessages = false
            if scenario.credentialLifetime != nil {
                client.credentials = .gives(Credential("token"), after: .milliseconds(50))
            }
            devices.append(
                SimulatedDevice(
                    number: number, client: client, tail: device.tail, rooms: rooms, kinds: scenario.kinds,
                    outbox: outbox?()))
        }
    }

    private func run() -> Result {
        let start = world.now
        world.relay.onNote = { [unowned self] in check($0) }
        world.relay.policy = policy(failingUntil: start + (scenario.steps.last?.at ?? .zero))
        if scenario.usesRoles {
            roles = RoleLedger(administrator: devices[0].account)
            world.relay.onRolesSaved = { [unowned self] in rolesSaved($0, $1) }
            rolePolicy = administered(world.relay.policy)
            restoreRolePolicy()
        }
        for device in devices {
            device.client.onOutput = { [unowned self, unowned device] in check($0, on: device) }
            device.start(in: world)
        }
        for step in scenario.steps { world.after(step.at) { [unowned self] in perform(step.action) } }
        run(for: scenario.steps.last?.at ?? .zero)
        settleRoles()
        while activeFaultCount > 0, holds { run(for: .seconds(1)) }
        letCredentialsExpire()
        let settlingTime = settle()
        mayCredentialsExpire = false
        checkLog()
        for check in [compare, publishAfterMappingLoss, runFinalRound, awaitQuiescence, checkIdle, leaveAll] where holds
        {
            check()
        }
        for device in devices { device.client.onOutput = nil }
        world.relay.onNote = nil
        world.relay.onRolesSaved = nil
        for failure in world.tls?.failures ?? [] { ledger.fail(.correctPeersAreServed, at: world.now, failure) }
        return Result(
            seed: scenario.seed, traceHash: trace.hash, trace: trace.lines,
            violations: Task.isCancelled ? [] : ledger.violations, wasCancelled: Task.isCancelled,
            messageCount: devices.reduce(0) { $0 + $1.drafts.records.count }, deliveryCount: deliveryCount,
            answerCount: requests.answeredCount, pageCount: history.pageCount,
            transferCount: attachments.finishedCount, faultCount: scenario.faultCount,
            connectionCount: world.connectionCount, handshakeCount: world.tls?.handshakeCount ?? 0,
            resumptionCount: world.tls?.resumptionCount ?? 0, virtualTime: world.now - start, settlingTime: settlingTime
        )
    }

    /// Waits until the connections end whose credentials could not be renewed because of faults. Later renewals
    /// succeed. An unordered carrier can lose a renewal, so credentials no longer expire there.
    private func letCredentialsExpire() {
        guard let lifetime = world.relay.credentialLifetime else { return }
        if !scenario.isReliable { world.relay.credentialLifetime = nil }
        run(for: lifetime)
    }

    /// A relay that replaces another has no policy of its own.
    func restoreRolePolicy() {
        if let rolePolicy { world.relay.policy = rolePolicy }
    }

    /// Checks the messages that the store has gained since the last call.
    func checkLog() {
        ledger.check(world.relay.log, roles, at: world.now)
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
            return ledger.fail(.eventsAreBounded, at: world.now, "more than \(maxEvents) events")
        }
    }

    // MARK: - Progress

    private func checkProgress() {
        let now = world.now
        for device in devices {
            let condition = condition(of: device)
            guard !device.progress.observe(condition, count: device.progressCount, now: now) else { continue }
            let sent = device.hasUnsettled ? "has messages to send" : "has messages to get"
            let detail = condition == .disconnected ? "is not connected" : sent
            ledger.fail(.progressIsMade, at: now, "device \(device.id) \(detail), for \(ProgressMonitor.limit)")
        }
        if let request = requests.overdue(now: now) {
            ledger.fail(.requestsEndOnce, at: now, "\(request) has no outcome")
        }
    }

    private func condition(of device: SimulatedDevice) -> ProgressMonitor.Condition {
        guard device.isRunning, globalFaultCount == 0, device.activeFaultCount == 0, device.client.isReachable,
            world.isRelayUp
        else { return .exempt }
        guard device.client.engine.status.isOnline else { return .disconnected }
        // A client notices a broken path after a heartbeat.
        guard world.isPathIntact(of: device.client) else { return .exempt }
        let isBusy = device.hasUnsettled || rooms.contains { missing($0, on: device) != nil }
        return isBusy ? .busy : .exempt
    }

    /// The first offset that the device must still deliver.
    func missing(_ room: RoomName, on device: SimulatedDevice) -> UInt64? {
        let last = (world.relay.log[room] ?? []).last { $0.device.rawValue != device.id }?.offset ?? 0
        let known = device.logs[room] == world.relay.logID(room) ? device.lastKnown(room) : 0
        return known < last ? last : nil
    }
}
