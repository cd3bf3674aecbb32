import MartletLink
import MartletRelay
import MartletWire

@testable import MartletRelaySQLite

/// The contents of a relay's store, as its calls define them.
struct StoreLedger {
    /// A row of consecutive messages.
    private struct Batch {
        var first: UInt64
        var count: UInt64
        var byteCount: Int
    }

    struct Contents {
        /// The identity of the log; nil until the room was loaded.
        var log: LogID?
        private var batches: [Batch] = []
        private(set) var entries: [LogEntry] = []
        private(set) var lastOffset: UInt64 = 0
        var progress: [AccountName: AccountProgress] = [:]

        var firstOffset: UInt64 { lastOffset + 1 - UInt64(entries.count) }
        private var byteCount: Int { batches.reduce(0) { $0 + $1.byteCount } }

        mutating func append(_ new: [LogEntry], erasing erasures: [MessageErasure]) {
            entries += new
            lastOffset += UInt64(new.count)
            if let first = new.first {
                let byteCount = new.reduce(0) { $0 + $1.body.byteCount }
                batches.append(Batch(first: first.offset, count: UInt64(new.count), byteCount: byteCount))
            }
            for erasure in erasures { erase(erasure) }
            let retention = StoreLedger.retention
            // An append removes eight batches at the most.
            guard entries.count > retention.maxMessagesPerRoom || byteCount >= retention.maxByteCountPerRoom else {
                return
            }
            for _ in 0..<8 {
                guard let oldest = batches.first else { return }
                let isBeyond =
                    entries.count - Int(oldest.count) >= retention.maxMessagesPerRoom
                    || batches.count > 1 && byteCount - oldest.byteCount >= retention.maxByteCountPerRoom
                guard isBeyond else { return }
                removeOldest()
            }
        }

        private mutating func erase(_ erasure: MessageErasure) {
            for index in entries.indices {
                guard let erased = erasure.erased(entries[index]) else { continue }
                let difference = entries[index].body.byteCount - erased.body.byteCount
                entries[index] = erased
                guard let batch = batches.lastIndex(where: { $0.first <= erased.offset }) else { continue }
                batches[batch].byteCount -= difference
            }
        }

        private mutating func removeOldest() {
            entries.removeFirst(Int(batches.removeFirst().count))
        }

        mutating func trim(before offset: UInt64) {
            while let oldest = batches.first, oldest.first <= offset, oldest.count <= offset - oldest.first {
                removeOldest()
            }
        }

        /// Forgets what is not in a damaged file.
        init(damaged snapshot: RoomSnapshot, _ found: [LogEntry]) {
            log = snapshot.log
            lastOffset = snapshot.lastOffset
            entries = found
            progress = snapshot.progress
            isDamaged = true
        }

        init() {}

        /// Whether the rows are unknown after damage, so that the retention cannot be predicted.
        private(set) var isDamaged = false
    }

    static let names: [RoomName] = ["lobby", "attic", "cellar"]
    static let device = DeviceKey(account: "alice", device: DeviceID(rawValue: 1))

    /// True ages in a simulation are far below the maximum.
    static var retention: StoreRetention {
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = 16
        retention.maxByteCountPerRoom = 5000
        retention.maxAge = 30 * 24 * 3600 * 1000
        return retention
    }

    var rooms: [RoomName: Contents] = [:]
    var roles: [RoomName: [UInt8]] = [:]
    var memberships: [RoomName: [AccountName: MembershipRecord]] = [:]

    /// A room as a store has it.
    struct Observed {
        var snapshot: RoomSnapshot
        var entries: [LogEntry]
    }

    /// The differences of the stored rooms.
    func differences(from observed: [RoomName: Observed]) -> [String] {
        observed.sorted { $0.key < $1.key }.flatMap { name, found in
            differences(name, found).map { "\(name): \($0)" }
        }
    }

    private func differences(_ name: RoomName, _ found: Observed) -> [String] {
        let room = rooms[name] ?? Contents()
        let snapshot = found.snapshot
        var differences: [String] = []
        if let log = room.log, log != snapshot.log { differences.append("another log") }
        if room.lastOffset != snapshot.lastOffset {
            differences.append("the last offset is \(snapshot.lastOffset), not \(room.lastOffset)")
        }
        if !room.isDamaged, room.firstOffset != snapshot.firstOffset {
            differences.append("the first offset is \(snapshot.firstOffset), not \(room.firstOffset)")
        }
        if !room.isDamaged {
            if found.entries.count != room.entries.count {
                differences.append("\(found.entries.count) messages, not \(room.entries.count)")
            }
            for (own, other) in zip(room.entries, found.entries) where !own.isSame(as: other) {
                differences.append("message \(own.offset) is different")
            }
            let watermark = snapshot.devices[Self.device]?.watermark
            if room.lastOffset > 0, watermark != room.lastOffset {
                differences.append("the counters end at \(watermark ?? 0), not \(room.lastOffset)")
            }
        }
        if room.progress != snapshot.progress { differences.append("another progress") }
        if roles[name] != snapshot.roles { differences.append("other roles") }
        if memberships[name] ?? [:] != snapshot.memberships { differences.append("other memberships") }
        return differences
    }
}

extension LogEntry {
    func isSame(as other: LogEntry) -> Bool {
        offset == other.offset && sender == other.sender && device == other.device && counter == other.counter
            && acceptedAt == other.acceptedAt && body.bytes == other.body.bytes
    }
}
