import MartletProtocol
import MartletWire

/// Plays a story with the real engines in a virtual world, and holds what happens against what was promised.
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
    /// How long it is watched that calm is kept.
    static let calm = Duration.seconds(600)
    /// Events of one run at the most, for each deed of its story.
    static let maxStepsPerDeed = 20_000

    let story: Story
    let world: VirtualWorld
    let rooms: [RoomName]
    private(set) var devices: [SimulatedDevice] = []
    private var ledger = Ledger()
    private var trace: Trace
    private var random: VirtualRandom
    private var deliveryCount = 0
    /// Faults that have not healed.
    private var unhealed = 0

    /// Plays a story to its end.
    public static func play(_ story: Story, keepsTrace: Bool = false) -> Result {
        Simulation(story, keepsTrace: keepsTrace).run()
    }

    private init(_ story: Story, keepsTrace: Bool) {
        self.story = story
        trace = Trace(keepsLines: keepsTrace)
        random = VirtualRandom(seed: ~story.seed)
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
            }
            client.remembers = false
            client.takesMessages = false
            devices.append(SimulatedDevice(number: number, client: client, rooms: rooms))
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
        while unhealed > 0, ledger.violations.isEmpty { run(for: .seconds(1)) }
        let settlingTime = settle()
        ledger.look(at: world.relay.log, at: world.now)
        if ledger.violations.isEmpty { compare() }
        if ledger.violations.isEmpty { tellTheForgotten() }
        if ledger.violations.isEmpty, story.isReliable { watchCalm() }
        for device in devices { device.client.onOutput = nil }
        world.relay.onNote = nil
        return Result(
            seed: story.seed, traceHash: trace.hash, trace: trace.lines, violations: ledger.violations,
            messageCount: devices.reduce(0) { $0 + $1.drafts.records.count }, deliveryCount: deliveryCount,
            faultCount: story.faultCount, connectionCount: world.connectionCount, virtualTime: world.now - began,
            settlingTime: settlingTime)
    }

    private var maxSteps: Int { Simulation.maxStepsPerDeed * (story.steps.count + 10) }

    private func run(for time: Duration) {
        world.run(until: world.now + time) { [unowned self] in world.stepCount > maxSteps }
        guard world.stepCount > maxSteps else { return }
        ledger.fail(.nothingRunsWild, at: world.now, "more than \(maxSteps) events")
    }

    /// Waits until everything has arrived; returns how long that took.
    private func settle() -> Duration {
        let began = world.now
        while !isDone, world.now - began < Simulation.patience, ledger.violations.isEmpty { run(for: .seconds(1)) }
        return world.now - began
    }

    /// A device that has nothing to say is forgotten on the way, and somebody else says something.
    private func tellTheForgotten() {
        run(for: .seconds(60))
        world.forgetTranslations(of: devices[0].client)
        perform(.say(device: 1, room: 0, count: 1, byteCount: 10))
        _ = settle()
        ledger.look(at: world.relay.log, at: world.now)
        compare()
    }

    /// Nothing goes wrong any more and nothing is left to do.
    private func watchCalm() {
        run(for: .seconds(60))
        for device in devices where world.openConnectionCount(of: device.client) > 1 {
            let count = world.openConnectionCount(of: device.client)
            ledger.fail(.onlyOneSpeaks, at: world.now, "device \(device.id) has \(count) connections")
        }
        let connections = world.connectionCount
        let repeats = devices.map { $0.client.engine.counters.retransmissions }
        run(for: Simulation.calm)
        if world.connectionCount != connections {
            ledger.fail(.calmIsKept, at: world.now, "\(world.connectionCount - connections) connections anew")
        }
        for (device, before) in zip(devices, repeats) where device.client.engine.counters.retransmissions != before {
            ledger.fail(.calmIsKept, at: world.now, "device \(device.id) sends again what has arrived")
        }
    }

    // MARK: What is seen

    private func see(_ output: ClientOutput, on device: SimulatedDevice) {
        let now = world.now
        switch output {
        case .room(let id, let event):
            guard let room = device.name(of: id) else { return }
            see(event, in: room, on: device)
        case .status(let status):
            if status.state == .online { device.epoch = status.epoch }
            trace.note(now, device: device.number, "status", status.epoch.map(UInt64.init) ?? 0, status.reconnects)
        case .stopped: trace.note(now, device: device.number, "stopped")
        case .connect:
            trace.note(now, device: device.number, "connects")
            ledger.dialled(device.id, at: now)
        case .race: trace.note(now, device: device.number, "dials a spare")
        case .close(_, let graceful): trace.note(now, device: device.number, "hangs up", graceful ? 1 : 0)
        case .transmit, .fetchCredential, .response: break
        }
    }

    private func see(_ event: RoomEvent, in room: RoomName, on device: SimulatedDevice) {
        let now = world.now
        switch event {
        case .message(let message, _):
            let offset = message.relay?.offset ?? 0
            trace.note(
                now, device: device.number, "is shown", offset, message.relay?.device.rawValue ?? 0, message.counter)
            ledger.shown(
                message, in: room, after: device.lastShown(room), log: log(of: room, on: device), to: device.id, at: now
            )
            device.show(offset, in: room)
            deliveryCount += 1
            syncLater(device)
        case .accepted(let run):
            trace.note(now, device: device.number, "is told accepted", run.firstCounter, UInt64(run.count))
            let log = log(of: room, on: device)
            for (index, counter) in run.counters.enumerated() {
                let offset = run.firstOffset == 0 ? 0 : run.firstOffset + UInt64(index)
                let key = Ledger.Key(device: device.id, counter: counter)
                ledger.accepted(key, offset: offset, in: room, log: log, at: now)
                device.accepted(counter)
            }
            syncLater(device)
        case .failed(let counter, let failure):
            ledger.fail(.nothingIsGivenUp, at: now, "device \(device.id), message \(counter): \(failure)")
        case .gap(let offsets):
            trace.note(now, device: device.number, "does without", offsets.lowerBound, offsets.upperBound)
            ledger.missed(offsets, in: room, first: world.relay.first(room), by: device.id, at: now)
            device.miss(offsets, in: room)
        case .closed(let code):
            ledger.fail(
                .nothingIsGivenUp, at: now, "\(room) is closed to device \(device.id): \(String(describing: code))")
        case .logReplaced(let previous, _):
            trace.note(now, device: device.number, "loses a log", previous.offset)
            device.hear(thatLogIsReplacedOf: room)
            if previous.log.flatMap({ world.relay.lostLogs[$0] }) == nil {
                ledger.fail(.lossIsTold, at: now, "device \(device.id) is told so of \(previous) of \(room)")
            }
        case .opened(let head, _, _, let log):
            trace.note(now, device: device.number, "is let in", head)
            if !device.enter(room, log) {
                ledger.fail(.lossIsTold, at: now, "device \(device.id) is let into another log of \(room)")
            }
        case .sent, .progress, .presence, .typing, .transient, .request, .requestCancelled: break
        }
    }

    /// What the log has that a device has been let into.
    private func log(of room: RoomName, on device: SimulatedDevice) -> [LogEntry] {
        device.logs[room].flatMap { world.relay.entries(of: $0, in: room) } ?? []
    }

    private func see(_ note: RelayNote) {
        switch note {
        case .linked(let key, _):
            guard let device = device(key) else { return }
            if let ended = device.ended, ended.at == world.now, ended.wasKnown {
                ledger.fail(.linksAreResumed, at: world.now, "device \(device.id) begins anew beside its link")
            }
            // Whether the device hears of it remains to be seen.
            (device.epoch, device.epochAtRelay) = (nil, 1)
        case .resumed(let key, _, let epoch): device(key)?.epochAtRelay = epoch.rawValue
        case .ended(let key, _):
            guard let device = device(key) else { return }
            device.ended = (world.now, device.epoch != nil && device.epoch == device.epochAtRelay)
            device.epochAtRelay = nil
        case .suspended, .refused, .faulted: break
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
            device.sync(in: world)
            ledger.look(at: world.relay.log, at: world.now)
        }
    }

    private var isDone: Bool {
        guard unhealed == 0, devices.allSatisfy({ !$0.hasUnsettled && !$0.hasUnsynced }) else { return false }
        return devices.allSatisfy { device in rooms.allSatisfy { missing($0, on: device) == nil } }
    }

    /// The first offset that a device should show of a room and does not.
    private func missing(_ room: RoomName, on device: SimulatedDevice) -> UInt64? {
        let last = (world.relay.log[room] ?? []).last { $0.device.rawValue != device.id }?.offset ?? 0
        let known = device.logs[room] == world.relay.logID(room) ? device.lastKnown(room) : 0
        return known < last ? last : nil
    }

    private func compare() {
        for device in devices {
            if device.hasUnsettled {
                let detail = "device \(device.id): \(device.isSettled.count) of \(device.drafts.records.count) accepted"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
            for room in rooms {
                let missed = device.missed[room] ?? []
                let others = (world.relay.log[room] ?? []).filter { $0.device.rawValue != device.id }
                let expected = others.map(\.offset).filter { !missed.contains($0) }
                let shown = device.shownOffsets(room).filter { !missed.contains($0) }
                guard shown != expected else { continue }
                let detail = "device \(device.id) shows \(shown.count) of \(expected.count) in \(room)"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
        }
    }

    // MARK: What is done

    private func perform(_ deed: Story.Deed) {
        switch deed {
        case .say(let number, let room, let count, let byteCount):
            let device = devices[number]
            guard device.isRunning else { return }
            for _ in 0..<count {
                let counter = device.say(rooms[room], byteCount: byteCount)
                ledger.said(
                    Ledger.Key(device: device.id, counter: counter),
                    Ledger.Saying(room: rooms[room], byteCount: byteCount))
            }
            syncLater(device)
        case .cut(let number): world.cut(devices[number].client)
        case .blackHole(let number, let way, let time):
            world.blackHole(devices[number].client, way)
            heal(after: time) { $0.world.restore($0.devices[number].client) }
        case .forgetTranslations(let number): world.forgetTranslations(of: devices[number].client)
        case .switchPath(let number, let delay): switchPath(devices[number], delay)
        case .crash(let number, let time): crash(devices[number], downFor: time)
        case .restartRelay(let time):
            restartRelay(time)
        case .loseLog(let number, let time):
            restartRelay(time)
            world.relay.loseLog(of: rooms[number])
            ledger.lost(rooms[number])
        case .failStore(let part, let time):
            setStore(part, fails: true)
            heal(after: time) { $0.setStore(part, fails: false) }
        case .stopReading(let number, let time):
            world.stopReading(devices[number].client)
            heal(after: time) { $0.world.startReading($0.devices[number].client) }
        case .stopTaking(let number, let time):
            devices[number].isTaking = false
            heal(after: time) { simulation in
                simulation.devices[number].isTaking = true
                simulation.devices[number].take(in: simulation.world)
            }
        case .suspend(let number, let room, let time): suspend(devices[number], rooms[room], time)
        case .background(let number, let time):
            act(devices[number]) { $0.enterBackground(now: $1) }
            heal(after: time) { $0.act($0.devices[number]) { $0.enterForeground(now: $1) } }
        case .stop(let number, let time):
            act(devices[number]) { $0.stop(now: $1) }
            heal(after: time) { $0.act($0.devices[number]) { $0.start(now: $1) } }
        case .retryNow(let number): act(devices[number]) { $0.retryNow(now: $1) }
        case .trim(let number, let keeps):
            let end = UInt64(world.relay.log[rooms[number]]?.count ?? 0) + 1
            world.relay.trim(rooms[number], before: end - min(end - 1, UInt64(keeps)))
        case .replayHello(let number):
            let device = devices[number]
            guard world.replayHello(of: device.client) else { return }
            ledger.fail(.tokensWorkOnce, at: world.now, "device \(device.id)'s link was resumed by another")
        }
    }

    private func heal(after time: Duration, _ body: @escaping (Simulation) -> Void) {
        unhealed += 1
        world.after(time) { [unowned self] in
            unhealed -= 1
            body(self)
        }
    }

    private func act(_ device: SimulatedDevice, _ event: (inout ClientEngine, Instant) -> Void) {
        if device.isRunning { world.act(device.client, event) }
    }

    private func crash(_ device: SimulatedDevice, downFor time: Duration) {
        guard device.isRunning else { return }
        trace.note(world.now, device: device.number, "crashes")
        for draft in device.crash(&random, in: world) {
            ledger.unsaid(Ledger.Key(device: device.id, counter: draft.counter))
        }
        heal(after: time) { $0.devices[device.number].start(in: $0.world) }
    }

    private func suspend(_ device: SimulatedDevice, _ room: RoomName, _ time: Duration) {
        guard let id = device.rooms[room] else { return }
        act(device) { $0.suspend(id, now: $1) }
        heal(after: time) { simulation in
            guard let id = device.rooms[room] else { return }
            simulation.act(device) { $0.resume(id, now: $1) }
        }
    }

    private func switchPath(_ device: SimulatedDevice, _ delay: Duration) {
        var conditions = device.client.conditions
        conditions.delay = delay
        let network = NetworkID(rawValue: random.next())
        let address = "10.0.\(random.next() % 256).\(random.next() % 256)"
        let status = PathStatus(isUp: true, kind: .wifi, network: network, addresses: [address])
        world.switchPath(of: device.client, to: conditions, status)
    }

    private func restartRelay(_ time: Duration) {
        world.restartRelay(downFor: time)
        for device in devices { device.epochAtRelay = nil }
    }

    private func setStore(_ part: Story.StorePart, fails: Bool) {
        switch part {
        case .append: world.relay.refusesAppends = fails
        case .load: world.relay.refusesLoads = fails
        case .read: world.relay.refusesReads = fails
        }
    }
}
