import MartletProtocol
import MartletWire

/// The whole life of every message: said, handed over, accepted, stored, shown.
struct Ledger {
    /// A message's name: who said it, under which number.
    struct Key: Hashable {
        var device: UInt64
        var counter: UInt64
    }

    /// What a device said.
    struct Saying {
        var room: RoomName
        var byteCount: Int

        func text(_ key: Key) -> String {
            "\(key.device).\(key.counter)" + String(repeating: ".", count: byteCount)
        }
    }

    /// Violations beyond these are only counted.
    static let maxViolations = 8

    /// Attempts of one device to connect within `dialWindow` at the most, those that the user asks for included.
    static let maxDials = 40
    static let dialWindow = Duration.seconds(10)

    private(set) var said: [Key: Saying] = [:]
    /// When each device has dialled lately.
    private var dials: [UInt64: [Instant]] = [:]
    private(set) var violations: [Violation] = []
    /// Of each room, how many entries of the log have been checked, and each device's last counter there.
    private var checked: [RoomName: (count: Int, counters: [UInt64: UInt64])] = [:]

    mutating func said(_ key: Key, _ saying: Saying) {
        said[key] = saying
    }

    /// A draft did not survive a crash and was never handed over: nobody ever said it.
    mutating func unsaid(_ key: Key) {
        said[key] = nil
    }

    mutating func fail(_ promise: Violation.Promise, at now: Instant, _ detail: String) {
        guard violations.count < Ledger.maxViolations else { return }
        violations.append(Violation(promise: promise, at: now.nanoseconds / 1_000_000, detail: detail))
    }

    mutating func accepted(_ key: Key, offset: UInt64, in room: RoomName, log: [LogEntry], at now: Instant) {
        guard let saying = said[key], saying.room == room else {
            return fail(.acceptedIsDurable, at: now, "\(key) was not said in \(room)")
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

    /// A device shows a message; `last` is the offset that it showed before.
    mutating func shown(
        _ message: Message, in room: RoomName, after last: UInt64, log: [LogEntry], to device: UInt64, at now: Instant
    ) {
        guard let stamp = message.relay else { return fail(.shownIsStored, at: now, "a message without a stamp") }
        let key = Key(device: stamp.device.rawValue, counter: message.counter)
        if stamp.offset <= last {
            fail(.shownOnceInOrder, at: now, "device \(device) shows \(stamp.offset) after \(last) in \(room)")
        }
        guard let entry = entry(stamp.offset, log), entry.device == stamp.device, entry.counter == message.counter
        else {
            return fail(.shownIsStored, at: now, "\(key) at offset \(stamp.offset) of \(room), with \(log.count)")
        }
        guard let saying = said[key], saying.room == room, message.text == saying.text(key) else {
            return fail(.shownIsStored, at: now, "\(key) in \(room) has another text")
        }
    }

    /// Looks at what the store has got since it was last looked at.
    mutating func look(at logs: [RoomName: [LogEntry]], at now: Instant) {
        for (room, log) in logs {
            var (count, counters) = checked[room] ?? (0, [:])
            guard log.count >= count else {
                fail(.acceptedIsDurable, at: now, "\(room) has lost messages")
                continue
            }
            for index in count..<log.count {
                let entry = log[index]
                let last = counters.updateValue(entry.counter, forKey: entry.device.rawValue) ?? 0
                if entry.counter <= last || entry.offset != UInt64(index) + 1 {
                    let detail = "\(room) \(entry.offset): device \(entry.device) \(entry.counter) after \(last)"
                    fail(.storedOnceInOrder, at: now, detail)
                }
            }
            count = log.count
            checked[room] = (count, counters)
        }
    }

    /// The store has lost a room's log: the next one is another matter.
    mutating func lost(_ room: RoomName) {
        checked[room] = nil
    }

    /// A device begins to connect.
    mutating func dialled(_ device: UInt64, at now: Instant) {
        var recent = (dials[device] ?? []).filter { now - $0 < Ledger.dialWindow }
        recent.append(now)
        dials[device] = recent
        if recent.count == Ledger.maxDials + 1 {
            fail(.attemptsAreSpaced, at: now, "device \(device) tries for the \(recent.count)th time in 10 s")
        }
    }

    /// A device is told that it will not get some messages: the store has let go of them, or they are longer than the
    /// device takes.
    ///
    /// - Parameters:
    ///   - first: the first offset that the store keeps.
    ///   - limit: the longest body that the device takes, in bytes.
    mutating func missed(
        _ offsets: ClosedRange<UInt64>, in room: RoomName, first: UInt64, limit: Int, log: [LogEntry],
        by device: UInt64, at now: Instant
    ) {
        guard offsets.upperBound >= first else { return }
        let kept = max(offsets.lowerBound, first)...offsets.upperBound
        if kept.allSatisfy({ entry($0, log).map { $0.body.byteCount > limit } ?? false }) { return }
        fail(.nothingIsGivenUp, at: now, "device \(device) is told to do without \(offsets) of \(room)")
    }

    private func entry(_ offset: UInt64, _ log: [LogEntry]) -> LogEntry? {
        offset >= 1 && offset <= UInt64(log.count) ? log[Int(offset - 1)] : nil
    }
}
