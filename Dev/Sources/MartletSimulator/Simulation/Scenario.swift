import MartletLink
package import MartletTestKit
package import MartletWire

/// The actions and faults of a simulation as data, so that a seed can determine them and a shrinker can remove some.
package struct Scenario: Sendable {
    /// An action at a time.
    package struct Step: Sendable {
        /// The time since the start of the scenario.
        package var at: Duration
        /// The action.
        package var action: Action
    }

    /// An action or fault. Devices and rooms are indices. A fault with a duration ends without another action.
    package enum Action: Sendable {
        /// A fault.
        case fault(TimedFault)
        /// A device publishes `count` messages of `byteCount` bytes.
        case publish(device: Int, room: Int, count: Int, byteCount: Int)
        /// The device's application takes no messages.
        case stopTaking(device: Int, lasts: Duration)
        /// The application suspends a room and resumes it.
        case suspend(device: Int, room: Int, lasts: Duration)
        /// The application enters the background and the foreground again.
        case background(device: Int, lasts: Duration)
        /// The user stops the client and starts it again.
        case stop(device: Int, lasts: Duration)
        /// The user requests an immediate connection attempt.
        case retryNow(device: Int)
        /// The user of a device has read all delivered messages of a room.
        case read(device: Int, room: Int)
        /// The user of a device starts and stops typing.
        case type(device: Int, room: Int)
        /// A device sends a request to another device's account, or to the relay for nil.
        case request(device: Int, to: Int?, room: Int, byteCount: Int, timeout: Duration)
        /// A device cancels its latest request.
        case cancelRequest(device: Int)
        /// The application closes a room and opens it again.
        case close(device: Int, room: Int, lasts: Duration)
        /// The first device's account, which administers all rooms, performs an operation.
        case operate(RoomOperation, room: Int)
        /// A device requests a page of history. The place is a number of messages before the last one that the device
        /// knows.
        case readHistory(device: Int, room: Int, Direction, place: Int)
        /// A device uploads an attachment. Equal numbers and lengths are the same bytes.
        case upload(device: Int, room: Int, byteCount: Int, number: UInt64)
        /// A device downloads one of the attachments that the room has.
        case download(device: Int, room: Int, number: Int)
        /// A device cancels its latest upload.
        case cancelTransfer(device: Int)
    }

    /// A direction in a log.
    package enum Direction: CaseIterable, Sendable {
        /// Messages before a place.
        case before
        /// Messages after a place.
        case after
        /// Messages from the time of a message.
        case time
    }

    /// A device and its path to the relay.
    package struct Device: Sendable {
        /// The account, which devices may share.
        package var account: String
        /// The initial conditions of the path.
        package var conditions: PathConditions
        /// The features: version 1.0, compact frames or deflated frames; some devices lack receipts, presence or
        /// requests.
        package var features: Features
        /// The limits of the device.
        package var limits = Limits()
        /// The number of messages before the last offset at which the device opens an unknown room.
        package var tail: UInt32?
    }

    /// The seed, which determines the scenario and all random decisions of the run.
    package let seed: UInt64
    /// Whether the carrier is reliable and ordered.
    package var isReliable: Bool
    /// The devices.
    package var devices: [Device]
    /// The number of rooms. Every device is a member of all rooms.
    package var roomCount: Int
    /// The kind of each room's sessions, which determines windows and priorities.
    package var kinds: [SessionKind]
    /// The number of relays, which share the rooms through their store.
    package var relayCount: Int
    /// The number of each relay's loops.
    package var loopCount: Int
    /// The delay of the relay's store.
    package var storeDelay: Duration
    /// The delays of the store for further relays.
    package var otherStoreDelays: [Duration] = []
    /// The delay of the relay's room policy; nil if the relay has none.
    package var policyDelay: Duration?
    /// The duration after which credentials expire; nil if they do not.
    package var credentialLifetime: Duration?
    /// Whether the relay keeps roles of rooms.
    package var usesRoles = false
    /// The sequence of each session's first frame: 1, or shortly before 2³².
    package var firstSequence: UInt64
    /// Whether the relay deflates frames for peers that support it.
    package var relayDeflates: Bool
    /// The actions in order of time.
    package var steps: [Step]

    /// The number of published messages.
    package var messageCount: Int {
        steps.reduce(0) { sum, step in
            if case .publish(_, _, let count, _) = step.action { sum + count } else { sum }
        }
    }

    /// The number of faults.
    package var faultCount: Int {
        steps.count { step in
            if case .fault = step.action { true } else { false }
        }
    }

    // MARK: - Random scenarios

    /// The minimum number of messages in a random scenario.
    package static let minMessageCount = 200
    /// The minimum number of faults in a random scenario.
    package static let minFaultCount = 10

    /// The maximum content of a random request, in bytes.
    fileprivate static let maxRequestByteCount = 12_000

    /// The factor of the intervals in a scenario with a minimum duration.
    private static let stretch = 10

    /// Creates a random scenario.
    ///
    /// - Parameters:
    ///   - seed: The seed, which determines the scenario.
    ///   - duration: The minimum duration. A scenario with a minimum duration has longer intervals.
    ///   - relayCount: The number of relays. With several, there are faults of them and of their path to the store.
    ///   - loopCount: The number of each relay's loops, which does not affect the actions.
    package init(seed: UInt64, lasting duration: Duration = .zero, relayCount: Int = 1, loopCount: Int = 1) {
        // The states of consecutive seeds must not be near each other in the generator's sequence.
        var mixer = SeededRandom(seed: seed)
        var random = SeededRandom(seed: mixer.next())
        self.seed = seed
        self.relayCount = relayCount
        self.loopCount = loopCount
        isReliable = seed.isMultiple(of: 2)
        devices = []
        // Most scenarios have few rooms with much traffic each.
        roomCount = random.below(16) == 0 ? 20 + random.below(120) : 1 + random.below(3)
        let otherKinds: [SessionKind] = [.chat, .media, .file]
        let mixesKinds = random.below(4) == 0
        kinds = (0..<roomCount).map { mixesKinds ? otherKinds[$0 % otherKinds.count] : .chat }
        storeDelay = .milliseconds([0, 100, 200, 1000, 4000][random.below(5)])
        firstSequence = random.below(2) == 0 ? 1 : 1 << 32 - UInt64(1 + random.below(60))
        relayDeflates = seed & 4 != 0
        steps = []
        for number in 0..<(2 + random.below(4)) {
            // The fourth device belongs to the first account.
            let account = number == 3 ? "account0" : "account\(number)"
            let features: [Features] = [.supported, .supported.union(.compact), .all]
            var device = Device(
                account: account, conditions: PathConditions(&random, isReliable: isReliable),
                features: features[Int((seed / 2 + UInt64(number)) % 3)])
            if random.below(8) == 0 {
                device.features.remove([.receipts, .presence, .requests, .zlib][random.below(4)])
            }
            if random.below(5) == 0 { device.limits = Scenario.smallLimits }
            if random.below(4) == 0 { device.tail = UInt32(random.below(8)) }
            devices.append(device)
        }
        let hasBursts = random.below(10) == 0
        var at = Duration.zero
        let stretch = duration > .zero ? Scenario.stretch : 1
        var counts = (messages: 0, faults: 0)
        while counts.messages < Scenario.minMessageCount || counts.faults < Scenario.minFaultCount || at < duration {
            let action = random.action(devices.count, roomCount)
            switch action {
            case .publish(_, _, let count, _): counts.messages += count
            case .fault: counts.faults += 1
            default: break
            }
            steps.append(Step(at: at, action: action))
            at += .milliseconds(random.below(random.below(4) == 0 ? 4000 : 400) * stretch)
            if hasBursts, random.below(60) == 0 {
                steps.append(Step(at: at, action: random.burst(devices.count, roomCount)))
            }
        }
        if random.below(4) == 0 { policyDelay = .milliseconds([0, 50, 500, 3000][random.below(4)]) }
        if random.below(8) == 0 { credentialLifetime = .seconds(20 + random.below(100)) }
        if random.below(8) == 0 { addRoles(&random, until: at) }
        if random.below(3) == 0 { addHistory(&random, until: at) }
        if random.below(3) == 0 { addAttachments(&random, until: at) }
        if relayCount > 1 { addRelayFaults(&random, until: at) }
    }

    /// Adds faults of relays and of their path to the store.
    private mutating func addRelayFaults(_ random: inout SeededRandom, until end: Duration) {
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        otherStoreDelays = (1..<relayCount).map { _ in .milliseconds([0, 10, 100, 200, 1000, 4000][random.below(6)]) }
        for _ in 0..<(5 + random.below(20)) {
            let fault = random.relayFault(relayCount, devices.count)
            steps.append(Step(at: .milliseconds(random.below(milliseconds + 1)), action: .fault(fault)))
        }
        if random.below(3) == 0 { addTurns(&random, until: milliseconds) }
        sortSteps()
    }

    /// Adds messages of two devices by turns, more than the runs of acceptance that a relay remembers.
    private mutating func addTurns(_ random: inout SeededRandom, until milliseconds: Int) {
        let (room, first) = (random.below(roomCount), random.below(devices.count))
        let second = (first + 1 + random.below(devices.count - 1)) % devices.count
        var at = random.below(milliseconds + 1)
        for _ in 0..<(50 + random.below(100)) {
            for device in [first, second] {
                steps.append(
                    Step(at: .milliseconds(at), action: .publish(device: device, room: room, count: 1, byteCount: 8)))
                at += random.below(8)
            }
        }
    }

    /// Adds requests for pages of history.
    private mutating func addHistory(_ random: inout SeededRandom, until end: Duration) {
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for _ in 0..<(5 + random.below(40)) {
            let direction = Direction.allCases[random.below(3)]
            let place = random.below(random.below(3) == 0 ? 200 : 20)
            let action = Action.readHistory(
                device: random.below(devices.count), room: random.below(roomCount), direction, place: place)
            steps.append(Step(at: .milliseconds(random.below(milliseconds + 1)), action: action))
        }
        sortSteps()
    }

    /// Adds transfers of attachments, and faults of their store.
    private mutating func addAttachments(_ random: inout SeededRandom, until end: Duration) {
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for index in devices.indices where devices[index].features.contains(.compact) {
            devices[index].features.insert(.attachments)
        }
        for _ in 0..<(4 + random.below(16)) {
            let (device, room) = (random.below(devices.count), random.below(roomCount))
            let byteCount = random.below(8) == 0 ? random.below(40) : random.below(600_000)
            let action: Action =
                switch random.below(8) {
                case 0..<4:
                    .upload(
                        device: device, room: room, byteCount: byteCount, number: UInt64(random.below(6)))
                case 4..<6: .download(device: device, room: room, number: random.below(100))
                case 6: .cancelTransfer(device: device)
                default:
                    .fault(
                        random.below(2) == 0
                            ? TimedFault(.failStore(.attachments), lasts: random.pause())
                            : TimedFault(
                                .loseUploads(byteCount: random.below(100_000)), lasts: .milliseconds(random.below(3000))
                            ))
                }
            steps.append(Step(at: .milliseconds(random.below(milliseconds + 1)), action: action))
        }
        sortSteps()
    }

    /// Orders the steps by their times. Simultaneous steps keep their order.
    private mutating func sortSteps() {
        steps = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// Adds operations of the first device's account on the others.
    private mutating func addRoles(_ random: inout SeededRandom, until end: Duration) {
        usesRoles = true
        devices[0].features.insert(.requests)
        let others = devices.map(\.account).filter { $0 != devices[0].account }.compactMap { AccountName($0) }
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for _ in 0..<(10 + random.below(30)) {
            let operation = random.operation(on: others[random.below(others.count)])
            let at = Duration.milliseconds(random.below(milliseconds + 1))
            steps.append(Step(at: at, action: .operate(operation, room: random.below(roomCount))))
        }
        sortSteps()
    }

    /// Limits just above the protocol's minimums, so that windows fill and messages exceed the device's limit.
    private static let smallLimits = Limits(
        maxBodyByteCount: 17 << 10, maxMessageByteCount: 20 << 10, linkWindow: 40 << 10, sessionWindow: 20 << 10)
}

/// The random actions of scenarios.
extension SeededRandom {
    /// More short messages than a relay holds for a session before its room is loaded.
    fileprivate mutating func burst(_ deviceCount: Int, _ roomCount: Int) -> Scenario.Action {
        .publish(device: below(deviceCount), room: below(roomCount), count: 500 + below(2000), byteCount: below(8))
    }

    /// An operation on another account, on the room, or an announcement.
    fileprivate mutating func operation(on account: AccountName) -> RoomOperation {
        switch below(12) {
        case 0..<2: .kick(account)
        case 2: .ban(account)
        case 3: .unban(account)
        case 4..<6: .mute(account, seconds: UInt32(1 + below(30)))
        case 6: .unmute(account)
        case 7: .setRole(.reader, of: account)
        case 8: .setRole([nil, .member, .moderator, .owner][below(4)], of: account)
        case 9: .setAccess([.open, .inviteOnly, .closed][below(3)])
        case 10: .invite(account)
        default: .announce(MessageContent(text: "announcement \(below(1000))"))
        }
    }

    fileprivate mutating func action(_ deviceCount: Int, _ roomCount: Int) -> Scenario.Action {
        let device = below(deviceCount)
        let room = below(roomCount)
        switch below(100) {
        case 0..<27:
            return .fault(
                TimedFault(&self, of: SimulatedFaults.kinds, deviceCount: deviceCount, roomCount: roomCount))
        case 27: return .stopTaking(device: device, lasts: pause())
        case 28: return .suspend(device: device, room: room, lasts: pause())
        case 29: return .background(device: device, lasts: pause())
        case 30: return .stop(device: device, lasts: pause())
        case 31: return .retryNow(device: device)
        case 32..<35: return .read(device: device, room: room)
        case 35..<37: return .type(device: device, room: room)
        case 37..<42:
            let recipient = below(5) == 0 ? nil : Optional(below(deviceCount))
            let byteCount = below(6) == 0 ? below(Scenario.maxRequestByteCount) : below(100)
            return .request(
                device: device, to: recipient, room: room, byteCount: byteCount,
                timeout: .milliseconds(below(4) == 0 ? below(2000) : 10_000 + below(50_000)))
        case 42: return .cancelRequest(device: device)
        case 43: return .close(device: device, room: room, lasts: .milliseconds(below(5000)))
        default:
            let byteCount = below(12) == 0 ? below(40_000) : below(200)
            return .publish(device: device, room: room, count: 1 + below(6), byteCount: byteCount)
        }
    }
}
