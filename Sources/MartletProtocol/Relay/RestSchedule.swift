/// When a relay looks for links and rooms that nothing happens to, to pack them.
///
/// What was not touched from one look to the next is packed, so it rests after one to two intervals. While nothing can
/// be packed, as when links wait for what their devices have not acknowledged, looks become rare. A look waits a while
/// for something else to do, so that the loop does not wake for it alone.
struct RestSchedule: Sendable {
    /// The shortest time between two looks.
    static let leastInterval: Duration = .milliseconds(50)
    /// The longest.
    static let mostInterval: Duration = .seconds(10)

    /// How long a look waits for others' events.
    static let patience: Duration = .milliseconds(150)

    private var dueAt: Instant?
    private var interval = RestSchedule.leastInterval
    /// How many were not packed after the last look.
    private var remaining = 0

    /// When it wants to look, whatever else happens.
    var deadline: Instant? { dueAt.map { $0 + RestSchedule.patience } }

    /// So many are not packed now.
    mutating func update(wakefulCount: Int, now: Instant) {
        guard wakefulCount > 0 else { return dueAt = nil }
        guard dueAt == nil || wakefulCount > remaining && interval > RestSchedule.leastInterval else { return }
        interval = RestSchedule.leastInterval
        remaining = wakefulCount
        dueAt = now + interval
    }

    /// Whether it is time for a look.
    func isDue(now: Instant) -> Bool {
        dueAt.map { $0 <= now } ?? false
    }

    /// After a look that packed so many.
    mutating func looked(packedCount: Int, wakefulCount: Int, now: Instant) {
        interval = packedCount > 0 ? RestSchedule.leastInterval : min(interval * 2, RestSchedule.mostInterval)
        remaining = wakefulCount
        dueAt = wakefulCount > 0 ? now + interval : nil
    }
}

extension RelayEngine {
    /// Packs what nothing has happened to, if it is time.
    mutating func sweep(now: Instant) {
        rest.update(wakefulCount: links.wakefulCount + rooms.wakefulCount, now: now)
        guard rest.isDue(now: now) else { return }
        countLinks()
        let packedCount = links.sweep() + rooms.sweep()
        rest.looked(packedCount: packedCount, wakefulCount: links.wakefulCount + rooms.wakefulCount, now: now)
    }
}
