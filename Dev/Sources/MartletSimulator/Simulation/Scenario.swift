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
        /// A device publishes `count` messages of `byteCount` bytes.
        case publish(device: Int, room: Int, count: Int, byteCount: Int)
        /// The device's connections break.
        case cut(device: Int)
        /// The path drops all bytes in the given directions.
        case blackHole(device: Int, PathDirection, lasts: Duration)
        /// A NAT drops the mappings of the device's connections.
        case dropNATMappings(device: Int)
        /// The device moves to another network.
        case switchPath(device: Int, delay: Duration)
        /// The device's process crashes and may lose unsynced records.
        case crash(device: Int, down: Duration)
        /// The relay's process crashes and may lose unsynced messages.
        case restartRelay(down: Duration)
        /// The relay's process crashes, and its store loses a room's log. The next log starts at offset 1.
        case loseLog(room: Int, down: Duration)
        /// The relay's store fails.
        case failStore(StorePart, lasts: Duration)
        /// The device's host does not read.
        case stopReading(device: Int, lasts: Duration)
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
        /// The relay's store removes a room's messages except the last.
        case trim(room: Int, keeps: Int)
        /// An attacker replays the hello with which the device resumed its link.
        case replayHello(device: Int)
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
        /// The operator revokes the device's account and readmits it.
        case revoke(device: Int, lasts: Duration)
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
        /// The relay's process crashes, and its attachment store loses the last bytes of incomplete uploads.
        case loseUploads(byteCount: Int, down: Duration)
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

    /// An operation of a store.
    package enum StorePart: Sendable {
        /// Appending messages.
        case append
        /// Appending the second half of each batch.
        case appendHalf
        /// Loading rooms.
        case load
        /// Reading messages.
        case read
        /// All calls for attachments.
        case attachments
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
    /// The number of the relay's loops.
    package var loopCount: Int
    /// The delay of the relay's store.
    package var storeDelay: Duration
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

    /// The number of other actions.
    package var faultCount: Int {
        steps.count { step in
            if case .publish = step.action { false } else { true }
        }
    }

    // MARK: - Random scenarios

    /// The minimum number of messages in a random scenario.
    package static let minMessageCount = 200
    /// The minimum number of faults in a random scenario.
    package static let minFaultCount = 10

    /// The maximum content of a random request, in bytes.
    private static let maxRequestByteCount = 12_000

    /// The factor of the intervals in a scenario with a minimum duration.
    private static let stretch = 10

    /// Creates a random scenario.
    ///
    /// - Parameters:
    ///   - seed: The seed, which determines the scenario.
    ///   - duration: The minimum duration. A scenario with a minimum duration has longer intervals.
    ///   - loopCount: The number of the relay's loops, which does not affect the actions.
    package init(seed: UInt64, lasting duration: Duration = .zero, loopCount: Int = 1) {
        var generator = Generator(seed: seed)
        self.seed = seed
        self.loopCount = loopCount
        isReliable = seed.isMultiple(of: 2)
        devices = []
        // Most scenarios have few rooms with much traffic each.
        roomCount = generator.below(16) == 0 ? 20 + generator.below(120) : 1 + generator.below(3)
        let otherKinds: [SessionKind] = [.chat, .media, .file]
        let mixesKinds = generator.below(4) == 0
        kinds = (0..<roomCount).map { mixesKinds ? otherKinds[$0 % otherKinds.count] : .chat }
        storeDelay = .milliseconds([0, 100, 200, 1000, 4000][generator.below(5)])
        firstSequence = generator.below(2) == 0 ? 1 : 1 << 32 - UInt64(1 + generator.below(60))
        relayDeflates = seed & 4 != 0
        steps = []
        for number in 0..<(2 + generator.below(4)) {
            // The fourth device belongs to the first account.
            let account = number == 3 ? "account0" : "account\(number)"
            let features: [Features] = [.supported, .supported.union(.compact), .all]
            var device = Device(
                account: account, conditions: generator.conditions(isReliable: isReliable),
                features: features[Int((seed / 2 + UInt64(number)) % 3)])
            if generator.below(8) == 0 {
                device.features.remove([.receipts, .presence, .requests, .zlib][generator.below(4)])
            }
            if generator.below(5) == 0 { device.limits = Scenario.smallLimits }
            if generator.below(4) == 0 { device.tail = UInt32(generator.below(8)) }
            devices.append(device)
        }
        let hasBursts = generator.below(10) == 0
        var at = Duration.zero
        let stretch = duration > .zero ? Scenario.stretch : 1
        var counts = (messages: 0, faults: 0)
        while counts.messages < Scenario.minMessageCount || counts.faults < Scenario.minFaultCount || at < duration {
            let action = generator.action(devices.count, roomCount)
            switch action {
            case .publish(_, _, let count, _): counts.messages += count
            case .read, .type, .request, .cancelRequest: break
            default: counts.faults += 1
            }
            steps.append(Step(at: at, action: action))
            at += .milliseconds(generator.below(generator.below(4) == 0 ? 4000 : 400) * stretch)
            if hasBursts, generator.below(60) == 0 {
                steps.append(Step(at: at, action: generator.burst(devices.count, roomCount)))
            }
        }
        if generator.below(4) == 0 { policyDelay = .milliseconds([0, 50, 500, 3000][generator.below(4)]) }
        if generator.below(8) == 0 { credentialLifetime = .seconds(20 + generator.below(100)) }
        if generator.below(8) == 0 { addRoles(&generator, until: at) }
        if generator.below(3) == 0 { addHistory(&generator, until: at) }
        if generator.below(3) == 0 { addAttachments(&generator, until: at) }
    }

    /// Adds requests for pages of history.
    private mutating func addHistory(_ generator: inout Generator, until end: Duration) {
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for _ in 0..<(5 + generator.below(40)) {
            let direction = Direction.allCases[generator.below(3)]
            let place = generator.below(generator.below(3) == 0 ? 200 : 20)
            let action = Action.readHistory(
                device: generator.below(devices.count), room: generator.below(roomCount), direction, place: place)
            steps.append(Step(at: .milliseconds(generator.below(milliseconds + 1)), action: action))
        }
        sortSteps()
    }

    /// Adds transfers of attachments, and faults of their store.
    private mutating func addAttachments(_ generator: inout Generator, until end: Duration) {
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for index in devices.indices where devices[index].features.contains(.compact) {
            devices[index].features.insert(.attachments)
        }
        for _ in 0..<(4 + generator.below(16)) {
            let (device, room) = (generator.below(devices.count), generator.below(roomCount))
            let byteCount = generator.below(8) == 0 ? generator.below(40) : generator.below(600_000)
            let action: Action =
                switch generator.below(8) {
                case 0..<4:
                    .upload(
                        device: device, room: room, byteCount: byteCount, number: UInt64(generator.below(6)))
                case 4..<6: .download(device: device, room: room, number: generator.below(100))
                case 6: .cancelTransfer(device: device)
                default:
                    generator.below(2) == 0
                        ? .failStore(.attachments, lasts: generator.pause())
                        : .loseUploads(byteCount: generator.below(100_000), down: .milliseconds(generator.below(3000)))
                }
            steps.append(Step(at: .milliseconds(generator.below(milliseconds + 1)), action: action))
        }
        sortSteps()
    }

    /// Orders the steps by their times. Simultaneous steps keep their order.
    private mutating func sortSteps() {
        steps = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// Adds operations of the first device's account on the others.
    private mutating func addRoles(_ generator: inout Generator, until end: Duration) {
        usesRoles = true
        devices[0].features.insert(.requests)
        let others = devices.map(\.account).filter { $0 != devices[0].account }.compactMap { AccountName($0) }
        let milliseconds = Int(end.nanoseconds / 1_000_000)
        for _ in 0..<(10 + generator.below(30)) {
            let operation = generator.operation(on: others[generator.below(others.count)])
            let at = Duration.milliseconds(generator.below(milliseconds + 1))
            steps.append(Step(at: at, action: .operate(operation, room: generator.below(roomCount))))
        }
        sortSteps()
    }

    /// Limits just above the protocol's minimums, so that windows fill and messages exceed the device's limit.
    private static let smallLimits = Limits(
        maxBodyByteCount: 17 << 10, maxMessageByteCount: 20 << 10, linkWindow: 40 << 10, sessionWindow: 20 << 10)

    private struct Generator {
        var random: SeededRandom

        init(seed: UInt64) {
            // The states of consecutive seeds must not be near each other in the generator's sequence.
            var mixer = SeededRandom(seed: seed)
            random = SeededRandom(seed: mixer.next())
        }

        mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

        /// Usually some seconds, sometimes up to a minute.
        mutating func pause() -> Duration { .milliseconds(500 + below(below(4) == 0 ? 60_000 : 10_000)) }

        mutating func conditions(isReliable: Bool) -> PathConditions {
            PathConditions(
                delay: .milliseconds(5 + below(200)), jitter: .milliseconds(below(100)),
                bytesPerSecond: below(3) == 0 ? 100_000 : nil, lostPerMille: isReliable ? 0 : below(300),
                doubledPerMille: isReliable ? 0 : below(60), overtakenPerMille: isReliable ? 0 : below(60))
        }

        /// More short messages than a relay holds for a session before its room is loaded.
        mutating func burst(_ deviceCount: Int, _ roomCount: Int) -> Action {
            .publish(device: below(deviceCount), room: below(roomCount), count: 500 + below(2000), byteCount: below(8))
        }

        /// An operation on another account, on the room, or an announcement.
        mutating func operation(on account: AccountName) -> RoomOperation {
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

        mutating func action(_ deviceCount: Int, _ roomCount: Int) -> Action {
            let device = below(deviceCount)
            let room = below(roomCount)
            switch below(100) {
            case 0..<4: return .cut(device: device)
            case 4..<6: return .blackHole(device: device, .both, lasts: pause())
            case 6: return .blackHole(device: device, .up, lasts: pause())
            case 7: return .blackHole(device: device, .down, lasts: pause())
            case 8: return .dropNATMappings(device: device)
            case 9..<11: return .switchPath(device: device, delay: .milliseconds(5 + below(300)))
            case 11..<14: return .crash(device: device, down: .milliseconds(below(below(2) == 0 ? 200 : 5000)))
            case 14..<16: return .restartRelay(down: .milliseconds(below(5000)))
            case 16..<18: return .failStore(.append, lasts: pause())
            case 18: return .failStore(.load, lasts: pause())
            case 19: return .failStore(.read, lasts: pause())
            case 20: return .stopReading(device: device, lasts: pause())
            case 21: return .stopTaking(device: device, lasts: pause())
            case 22: return .suspend(device: device, room: room, lasts: pause())
            case 23: return .background(device: device, lasts: pause())
            case 24: return .stop(device: device, lasts: pause())
            case 25: return .retryNow(device: device)
            case 26: return .trim(room: room, keeps: below(20))
            case 27: return .replayHello(device: device)
            case 28: return .loseLog(room: room, down: .milliseconds(below(5000)))
            case 29..<32: return .read(device: device, room: room)
            case 32..<34: return .type(device: device, room: room)
            case 34..<39:
                let recipient = below(5) == 0 ? nil : Optional(below(deviceCount))
                let byteCount = below(6) == 0 ? below(Scenario.maxRequestByteCount) : below(100)
                return .request(
                    device: device, to: recipient, room: room, byteCount: byteCount,
                    timeout: .milliseconds(below(4) == 0 ? below(2000) : 10_000 + below(50_000)))
            case 39: return .cancelRequest(device: device)
            case 40: return .close(device: device, room: room, lasts: .milliseconds(below(5000)))
            case 41 where below(3) == 0: return .revoke(device: device, lasts: pause())
            case 42: return .failStore(.appendHalf, lasts: pause())
            default:
                let byteCount = below(12) == 0 ? below(40_000) : below(200)
                return .publish(device: device, room: room, count: 1 + below(6), byteCount: byteCount)
            }
        }
    }
}
