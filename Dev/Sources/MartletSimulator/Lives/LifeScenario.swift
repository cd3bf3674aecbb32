import MartletLink
import MartletTestKit
import MartletWire

/// The devices, paths, storages and durations of a run of ``ClientLives``, which a seed determines.
struct LifeScenario {
    /// How an application receives messages.
    enum Reading: CaseIterable {
        case deliveries
        case messages
        case items
        /// By a timeline. Devices have it only if the run makes timelines.
        case timeline

        var number: UInt64 { UInt64(Self.allCases.firstIndex(of: self)!) }
    }

    struct Device {
        var account: AccountName
        var conditions: PathConditions
        var reading: Reading
        /// Whether the calls of the outbox take time.
        var hasDelayedOutbox: Bool
        /// Whether the application answers messages with replies.
        var replies: Bool
        /// The mean time between two actions of the application.
        var pace: Duration
        /// The maximum number of unaccepted messages of a room.
        var maxPendingMessages: Int
        /// Whether the outbox is replaced by earlier copies of it between two lives.
        var restoresOutbox: Bool
    }

    /// A fault after a pause, which begins when the fault before has ended.
    struct PlannedFault {
        var pause: Duration
        var fault: TimedFault
    }

    let seed: UInt64
    let duration: Duration
    var devices: [Device] = []
    var rooms: [RoomName] = []
    let hasDelayedStore: Bool
    let loopCount: Int
    /// The faults in their order.
    let faults: [PlannedFault]
    /// Whether accounts are banned and muted, and rooms are closed.
    let hasRefusals: Bool

    init(seed: UInt64, duration: Duration, hasTimelines: Bool) {
        var random = SeededRandom(seed: seed)
        self.seed = seed
        self.duration = duration
        hasDelayedStore = random.happens(perMille: 400)
        loopCount = random.happens(perMille: 300) ? 2 : 1
        let faultInterval = Duration.seconds(20 + random.below(280))
        rooms = random.happens(perMille: 500) ? ["hall"] : ["hall", "yard"]
        hasRefusals = random.happens(perMille: 300)
        let readings = hasTimelines ? Reading.allCases : [.deliveries, .messages, .items]
        let count = 2 + random.below(3)
        let hasSharedAccount = count > 2 && random.happens(perMille: 300)
        for number in 0..<count {
            devices.append(
                Device(
                    account: hasSharedAccount && number == 1 ? "user0" : AccountName("user\(number)")!,
                    conditions: PathConditions(&random),
                    reading: readings[random.below(readings.count)],
                    hasDelayedOutbox: random.happens(perMille: 500), replies: random.happens(perMille: 600),
                    pace: .milliseconds(500 + random.below(30_000)),
                    maxPendingMessages: random.happens(perMille: 300) ? 3 : 4096,
                    restoresOutbox: random.happens(perMille: 250)))
            if devices[number].reading == .timeline { devices[number].restoresOutbox = false }
        }
        var kinds: [Fault.Kind] = [
            .cut, .blackHole, .dropNATMappings, .switchNetwork, .goOffline, .killRelay, .drainRelay, .failStore,
            .failOutbox,
        ]
        if hasRefusals { kinds += [.refuse, .closeRoom] }
        if random.happens(perMille: 300) { kinds.append(.copyOrRestoreStore) }
        var faults: [PlannedFault] = []
        var end = Duration.zero
        while end < duration {
            let pause = faultInterval * (Double(random.below(2000)) / 1000)
            let fault = TimedFault(&random, of: kinds, deviceCount: count, roomCount: rooms.count)
            faults.append(PlannedFault(pause: pause, fault: fault))
            end += pause + fault.lasts
        }
        self.faults = faults
    }
}
