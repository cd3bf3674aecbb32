import MartletProtocol
import MartletWire

/// Plays a story with the real engines in a virtual world, and holds what happens against what was promised.
///
/// What the story does is in `Simulation+Steps`, what is seen of it in `Simulation+Events`, and what has to hold when
/// nothing goes wrong any more in `Simulation+Ending`.
public final class Simulation {
    /// What came of a run.
    public struct Result: Sendable {
        /// The seed of the story.
        public var seed: UInt64
        /// A hash over everything that clients saw, and when.
        public var traceHash: UInt64
        /// The same as lines, when they were asked for.
        public var trace: [String]
        /// Broken promises, at most eight.
        public var violations: [Violation]
        /// Messages that were said and survived their device's crashes.
        public var messageCount: Int
        /// Messages that were shown, on all devices together.
        public var deliveryCount: Int
        /// Requests that another member answered.
        public var answerCount: Int
        /// Things that went wrong.
        public var faultCount: Int
        /// Connections that were established.
        public var connectionCount: Int
        /// How long it took, in virtual time.
        public var virtualTime: Duration
        /// How much of it went by after the last fault had healed.
        public var settlingTime: Duration
    }

    /// How long a write takes to be sure.
    static let syncDelay = Duration.milliseconds(20)
    /// How long everything may take to arrive once nothing goes wrong any more.
    static let patience = Duration.seconds(3600)
    /// How often it is looked at whether devices get on.
    static let watchInterval = Duration.seconds(5)
    /// Events of one run at the most, for each deed of its story, and for each message that a deed says.
    static let maxStepsPerDeed = 20_000
    static let maxStepsPerMessage = 200

    let story: Story
    let world: VirtualWorld
    let rooms: [RoomName]
    private(set) var devices: [SimulatedDevice] = []
    var ledger = Ledger()
    var requests = RequestLedger()
    var attendance = Attendance()
    var trace: Trace
    var random: SeededRandom
    var deliveryCount = 0
    /// Faults that have not healed, and those of them that hinder every device.
    var unhealed = 0
    var hindranceCount = 0
    /// What there was when calm began.
    var calm: Calm?
    /// Requests that had been answered when the final round began; nil before.
    var finalQuestions: Int?

    /// Connections and retransmissions, which are not to become more.
    struct Calm {
        var connectionCount: Int
        var repeats: [UInt64]
    }

    /// Plays a story to its end.
    public static func play(_ story: Story, keepsTrace: Bool = false) -> Result {
        Simulation(story, keepsTrace: keepsTrace).run()
    }

    private init(_ story: Story, keepsTrace: Bool) {
        self.story = story
        trace = Trace(keepsLines: keepsTrace)
        random = SeededRandom(seed: ~story.seed)
        var configuration = RelayConfiguration()
        configuration.resumeLifetime = .seconds(60)
        configuration.firstSequence = story.firstSequence
        configuration.deflatesPackets = story.relayDeflates
        world = VirtualWorld(relay: configuration, loopCount: story.loopCount, seed: story.seed)
        world.relay.storeDelay = story.storeDelay
        rooms = (0..<story.roomCount).map { RoomName("room\($0)")! }
        for (number, device) in story.devices.enumerated() {
            let carrier = story.isReliable ? Carrier.reliable : .unreliable
            let client = world.addClient(device.account, conditions: device.conditions, carrier: carrier) {
                $0.firstSequence = story.firstSequence
                $0.features = device.features
                $0.compressesMessages = device.features.contains(.sharedDeflate)
                $0.limits = device.limits
            }
            client.remembers = false
            client.takesMessages = false
            devices.append(
                SimulatedDevice(
                    number: number, client: client, tail: device.tail, rooms: rooms, kinds: story.kinds))
        }
    }

    private func run() -> Result {
        let began = world.now
        world.relay.onNote = { [unowned self] in see($0) }
        for device in devices {
            device.client.onOutput = { [unowned self, unowned device] in see($0, on: device) }
            device.start(in: world)
        }
        for step in story.steps { world.after(step.at) { [unowned self] in perform(step.deed) } }
        run(for: story.steps.last?.at ?? .zero)
        while unhealed > 0, holds { run(for: .seconds(1)) }
        let settlingTime = settle()
        ledger.look(at: world.relay.log, at: world.now)
        for check in [compare, tellTheForgotten, playFinalRound, awaitQuiescence, watchCalm, leaveAll] where holds {
            check()
        }
        for device in devices { device.client.onOutput = nil }
        world.relay.onNote = nil
        return Result(
            seed: story.seed, traceHash: trace.hash, trace: trace.lines, violations: ledger.violations,
            messageCount: devices.reduce(0) { $0 + $1.drafts.records.count }, deliveryCount: deliveryCount,
            answerCount: requests.answeredCount, faultCount: story.faultCount,
            connectionCount: world.connectionCount, virtualTime: world.now - began, settlingTime: settlingTime)
    }

    /// Whether no promise was broken so far.
    var holds: Bool { ledger.violations.isEmpty }

    private var maxSteps: Int {
        Simulation.maxStepsPerDeed * (story.steps.count + 10) + Simulation.maxStepsPerMessage * story.messageCount
    }

    /// Lets time pass, and looks now and then whether devices get on.
    func run(for time: Duration) {
        let end = world.now + time
        while world.now < end, holds {
            world.run(until: min(end, world.now + Simulation.watchInterval)) { [unowned self] in
                world.stepCount > maxSteps
            }
            watchProgress()
            guard world.stepCount > maxSteps else { continue }
            return ledger.fail(.nothingRunsWild, at: world.now, "more than \(maxSteps) events")
        }
    }

    // MARK: Progress

    private func watchProgress() {
        let now = world.now
        for device in devices {
            let standing = standing(of: device)
            guard !device.progress.observe(standing, count: device.progressCount, now: now) else { continue }
            let sent = device.hasUnsettled ? "has messages to send" : "has messages to get"
            let detail = standing == .disconnected ? "is not connected" : sent
            ledger.fail(.progressIsMade, at: now, "device \(device.id) \(detail), for \(ProgressWatch.limit)")
        }
        if let request = requests.overdue(now: now) {
            ledger.fail(.requestsEndOnce, at: now, "\(request) has no outcome")
        }
    }

    private func standing(of device: SimulatedDevice) -> ProgressWatch.Standing {
        guard device.isRunning, hindranceCount == 0, device.hindranceCount == 0, device.client.isReachable,
            world.relayIsUp
        else { return .excused }
        guard device.client.engine.status.isOnline else { return .disconnected }
        // A client has to notice first that nothing comes through, and may take a heartbeat for it.
        guard world.isPathIntact(of: device.client) else { return .excused }
        let isBusy = device.hasUnsettled || rooms.contains { missing($0, on: device) != nil }
        return isBusy ? .busy : .excused
    }

    /// The first offset that a device should show of a room and does not.
    func missing(_ room: RoomName, on device: SimulatedDevice) -> UInt64? {
        let last = (world.relay.log[room] ?? []).last { $0.device.rawValue != device.id }?.offset ?? 0
        let known = device.logs[room] == world.relay.logID(room) ? device.lastKnown(room) : 0
        return known < last ? last : nil
    }
}
