import MartletLink
import MartletWire

/// The record of every message: published, sent, accepted, stored, delivered.
struct Ledger {
    /// The identity of a message: its device and counter.
    struct Key: Hashable {
        var device: UInt64
        var counter: UInt64
    }

    /// The expected room and text of a published message.
    struct Expectation {
        var room: RoomName
        var byteCount: Int
        /// When it was published, by the relay's wall clock in milliseconds.
        var at: UInt64 = 0

        func text(_ key: Key) -> String {
            "\(key.device).\(key.counter)" + String(repeating: ".", count: byteCount)
        }
    }

    /// The maximum number of recorded violations.
    static let maxViolations = 8

    /// The maximum number of connection attempts of a device within `attemptWindow`, including those requested by the
    /// user.
    static let maxAttempts = 40
    static let attemptWindow = Duration.seconds(10)

    private(set) var published: [Key: Expectation] = [:]
    /// The messages that the relay has refused.
    private var refused: Set<Key> = []
    /// The recent connection attempts of each device.
    private var attempts: [UInt64: [Instant]] = [:]
    private(set) var violations: [Violation] = []
    /// For each room, the number of checked messages and each device's last counter.
    private var checked: [RoomName: (count: Int, counters: [UInt64: UInt64])] = [:]

    mutating func published(_ key: Key, _ expectation: Expectation) {
        published[key] = expectation
    }

    /// Removes a draft that was lost in a crash before it was sent.
    mutating func removed(_ key: Key) {
        published[key] = nil
    }

    /// Records a message that the relay has refused: it is never stored.
    mutating func refused(_ key: Key) {
        refused.insert(key)
    }

    mutating func fail(_ invariant: Violation.Invariant, at now: Instant, _ detail: String) {
        guard violations.count < Ledger.maxViolations else { return }
        violations.append(Violation(invariant: invariant, at: now.nanoseconds / 1_000_000, detail: detail))
    }

    mutating func accepted(_ key: Key, offset: UInt64, in room: RoomName, log: [LogEntry], at now: Instant) {
        guard let expectation = published[key], expectation.room == room else {
            return fail(.acceptedIsDurable, at: now, "\(key) was not published in \(room)")
        }
        let isThere: Bool
        if offset == 0 {
            // Accepted earlier, at an offset that the relay no longer knows.
            isThere = log.contains { $0.device.rawValue == key.device && $0.counter == key.counter }
        } else if let entry = entry(offset, log) {
            isThere = entry.device.rawValue == key.device && entry.counter == key.counter
        } else {
            isThere = false
        }
        if !isThere { fail(.acceptedIsDurable, at: now, "\(key) at offset \(offset) of \(room), with \(log.count)") }
    }

    /// Checks a delivery; `last` is the previously delivered offset.
    mutating func delivered(
        _ message: Message, in room: RoomName, after last: UInt64, log: [LogEntry], to device: UInt64, at now: Instant
    ) {
        guard let stamp = message.relay else { return fail(.deliveredIsStored, at: now, "a message has no stamp") }
        let key = Key(device: stamp.device.rawValue, counter: message.counter)
        if stamp.offset <= last {
            fail(.deliveredOnceInOrder, at: now, "device \(device) delivered \(stamp.offset) after \(last) in \(room)")
        }
        guard let entry = entry(stamp.offset, log), entry.device == stamp.device, entry.counter == message.counter
        else {
            return fail(.deliveredIsStored, at: now, "\(key) at offset \(stamp.offset) of \(room), with \(log.count)")
        }
        if key.device == 0, message.text?.hasPrefix("announcement") == true { return }
        guard let expectation = published[key], expectation.room == room, message.text == expectation.text(key) else {
            return fail(.deliveredIsStored, at: now, "\(key) in \(room) has another text")
        }
    }

    /// Checks the messages that the store has gained since the last call.
    ///
    /// - Parameter roles: The roles of rooms; nil if the relay keeps none.
    mutating func check(_ logs: [RoomName: [LogEntry]], _ roles: RoleLedger? = nil, at now: Instant) {
        for (room, log) in logs {
            var (count, counters) = checked[room] ?? (0, [:])
            guard log.count >= count else {
                fail(.acceptedIsDurable, at: now, "\(room) has lost messages")
                continue
            }
            for index in count..<log.count {
                let entry = log[index]
                let last = counters[entry.device.rawValue] ?? 0
                counters[entry.device.rawValue] = max(last, entry.counter)
                check(entry, in: room, roles, at: now)
                if entry.counter <= last, mayBeLate(entry, in: room, log[..<index], roles) { continue }
                if entry.counter <= last || entry.offset != UInt64(index) + 1 {
                    let detail = "\(room) \(entry.offset): device \(entry.device) \(entry.counter) after \(last)"
                    fail(.storedOnceInOrder, at: now, detail)
                }
            }
            count = log.count
            checked[room] = (count, counters)
        }
    }

    /// Checks that the account was permitted to publish, and that the message was not refused.
    private mutating func check(_ entry: LogEntry, in room: RoomName, _ roles: RoleLedger?, at now: Instant) {
        guard let roles, entry.device.rawValue != 0 else { return }
        let key = Key(device: entry.device.rawValue, counter: entry.counter)
        if !roles.mayHavePublished(entry.sender, in: room, at: entry.acceptedAt) {
            fail(.rolesAreEnforced, at: now, "\(key) of \(entry.sender) in \(room), which may not publish")
        }
        if refused.contains(key) { fail(.rolesAreEnforced, at: now, "\(key) in \(room) was refused before") }
    }

    /// Whether a message may follow a later one of its device. This requires that the message was refused, and that its
    /// device published it again without having been notified.
    private func mayBeLate(
        _ entry: LogEntry, in room: RoomName, _ earlier: ArraySlice<LogEntry>, _ roles: RoleLedger?
    ) -> Bool {
        let key = Key(device: entry.device.rawValue, counter: entry.counter)
        guard let roles, let published = published[key] else { return false }
        return roles.wasSilenced(entry.sender, in: room, since: published.at)
            && !earlier.contains { $0.device == entry.device && $0.counter == entry.counter }
    }

    /// The store has lost a room's log. The next log is checked from its start.
    mutating func removeRoom(_ room: RoomName) {
        checked[room] = nil
    }

    /// Checks the rate of a device's connection attempts.
    mutating func connecting(_ device: UInt64, at now: Instant) {
        var recent = (attempts[device] ?? []).filter { now - $0 < Ledger.attemptWindow }
        recent.append(now)
        attempts[device] = recent
        if recent.count == Ledger.maxAttempts + 1 {
            fail(.attemptsAreLimited, at: now, "device \(device) started \(recent.count) attempts in 10 s")
        }
    }

    /// Checks a gap: the store has removed its messages, or they exceed the device's limit.
    ///
    /// - Parameters:
    ///   - first: The first offset that the store keeps.
    ///   - limit: The maximum body size of the device, in bytes.
    mutating func skipped(
        _ offsets: ClosedRange<UInt64>, in room: RoomName, first: UInt64, limit: Int, log: [LogEntry],
        by device: UInt64, at now: Instant
    ) {
        guard offsets.upperBound >= first else { return }
        let kept = max(offsets.lowerBound, first)...offsets.upperBound
        if kept.allSatisfy({ entry($0, log).map { $0.body.byteCount > limit } ?? false }) { return }
        fail(.noMessageFails, at: now, "device \(device) received a gap \(offsets) of \(room)")
    }

    private func entry(_ offset: UInt64, _ log: [LogEntry]) -> LogEntry? {
        offset >= 1 && offset <= UInt64(log.count) ? log[Int(offset - 1)] : nil
    }
}
