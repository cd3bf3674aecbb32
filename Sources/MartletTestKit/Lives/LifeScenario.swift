import MartletProtocol
import MartletWire

/// The devices, paths, storages and durations of a run of ``ClientLives``, which a seed determines.
struct LifeScenario {
    /// How an application receives messages.
    enum Reading: CaseIterable {
        case deliveries
        case messages
        case items
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
    }

    let seed: UInt64
    let duration: Duration
    var devices: [Device] = []
    var rooms: [RoomName] = []
    let hasDelayedStore: Bool
    let loopCount: Int
    /// The mean time between two faults.
    let faultInterval: Duration

    init(seed: UInt64, duration: Duration) {
        var random = SeededRandom(seed: seed)
        self.seed = seed
        self.duration = duration
        hasDelayedStore = random.happens(perMille: 400)
        loopCount = random.happens(perMille: 300) ? 2 : 1
        faultInterval = .seconds(Int64(20 + random.next() % 280))
        rooms = random.happens(perMille: 500) ? ["hall"] : ["hall", "yard"]
        let count = 2 + Int(random.next() % 3)
        let hasSharedAccount = count > 2 && random.happens(perMille: 300)
        for number in 0..<count {
            let isSlow = random.happens(perMille: 300)
            devices.append(
                Device(
                    account: hasSharedAccount && number == 1 ? "user0" : AccountName("user\(number)")!,
                    conditions: PathConditions(
                        delay: .milliseconds(Int64(5 + random.next() % 295)),
                        jitter: .milliseconds(Int64(random.next() % 100)),
                        bytesPerSecond: isSlow ? Int(5_000 + random.next() % 95_000) : nil),
                    reading: Reading.allCases[Int(random.next() % 3)],
                    hasDelayedOutbox: random.happens(perMille: 500), replies: random.happens(perMille: 600),
                    pace: .milliseconds(Int64(500 + random.next() % 30_000)),
                    maxPendingMessages: random.happens(perMille: 300) ? 3 : 4096))
        }
    }
}
