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
    }

    /// How long a write takes to be sure.
    static let syncDelay = Duration.milliseconds(20)
    /// How long everything may take to arrive once nothing goes wrong any more.
    static let patience = Duration.seconds(3600)

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
        world = VirtualWorld(relay: configuration, seed: story.seed)
        world.relay.storeDelay = story.storeDelay
        rooms = (0..<story.roomCount).map { RoomName("room\($0)")! }
        for (number, device) in story.devices.enumerated() {
            let carrier = story.isReliable ? Carrier.reliable : .unreliable
            let client = world.addClient(device.account, conditions: device.conditions, carrier: carrier)
            client.remembers = false
            client.takesMessages = false
            devices.append(SimulatedDevice(number: number, client: client, rooms: rooms))
        }
    }

    private func run() -> Result {
        let began = world.now
        for device in devices {
            device.client.onOutput = { [unowned self, unowned device] in see($0, on: device) }
            device.start(in: world)
        }
        for step in story.steps { world.after(step.at) { [unowned self] in perform(step.deed) } }
        world.run(for: story.steps.last?.at ?? .zero)
        let limit = world.now + Simulation.patience
        while !isDone, world.now < limit, ledger.violations.isEmpty { world.run(for: .seconds(1)) }
        ledger.look(at: world.relay.log, at: world.now)
        if ledger.violations.isEmpty { compare() }
        for device in devices { device.client.onOutput = nil }
        return Result(
            seed: story.seed, traceHash: trace.hash, trace: trace.lines, violations: ledger.violations,
            messageCount: devices.reduce(0) { $0 + $1.drafts.records.count }, deliveryCount: deliveryCount,
            faultCount: story.faultCount, connectionCount: world.connectionCount, virtualTime: world.now - began)
    }

    // MARK: What is seen

    private func see(_ output: ClientOutput, on device: SimulatedDevice) {
        let now = world.now
        switch output {
        case .room(let id, let event):
            guard let room = device.name(of: id) else { return }
            see(event, in: room, on: device)
        case .status(let status):
            trace.note(now, device: device.number, "status", status.epoch.map(UInt64.init) ?? 0, status.reconnects)
        case .stopped: trace.note(now, device: device.number, "stopped")
        case .connect: trace.note(now, device: device.number, "connects")
        case .race: trace.note(now, device: device.number, "dials a spare")
        case .close(_, let graceful): trace.note(now, device: device.number, "hangs up", graceful ? 1 : 0)
        case .transmit, .fetchCredential, .response: break
        }
    }

    private func see(_ event: RoomEvent, in room: RoomName, on device: SimulatedDevice) {
        let now = world.now
        let log = world.relay.log[room] ?? []
        switch event {
        case .message(let message, _):
            let offset = message.relay?.offset ?? 0
            trace.note(
                now, device: device.number, "is shown", offset, message.relay?.device.rawValue ?? 0, message.counter)
            ledger.shown(message, in: room, after: device.lastShown(room), log: log, to: device.id, at: now)
            device.show(offset, in: room)
            deliveryCount += 1
            syncLater(device)
        case .accepted(let run):
            trace.note(now, device: device.number, "is told accepted", run.firstCounter, UInt64(run.count))
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
            ledger.fail(.nothingIsGivenUp, at: now, "device \(device.id) is told to do without \(offsets) of \(room)")
        case .closed(let code):
            ledger.fail(
                .nothingIsGivenUp, at: now, "\(room) is closed to device \(device.id): \(String(describing: code))")
        case .opened(let head, _, _): trace.note(now, device: device.number, "is let in", head)
        case .sent, .progress, .presence, .typing, .transient, .request, .requestCancelled: break
        }
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
        return device.lastShown(room) < last ? last : nil
    }

    private func compare() {
        for device in devices {
            if device.hasUnsettled {
                let detail = "device \(device.id): \(device.isSettled.count) of \(device.drafts.records.count) accepted"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
            for room in rooms {
                let expected = (world.relay.log[room] ?? []).filter { $0.device.rawValue != device.id }.map(\.offset)
                let shown = device.shownOffsets(room)
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
        case .restartRelay(let time): world.restartRelay(downFor: time)
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

    private func setStore(_ part: Story.StorePart, fails: Bool) {
        switch part {
        case .append: world.relay.refusesAppends = fails
        case .load: world.relay.refusesLoads = fails
        case .read: world.relay.refusesReads = fails
        }
    }
}
