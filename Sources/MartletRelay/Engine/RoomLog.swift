import MartletLink
public import MartletWire

/// The state of a room in the store.
public struct RoomSnapshot: Sendable {
    /// The log's identity, a random number of each log. Nil when the store has none; readers then notice another
    /// log only while it is shorter than the known one.
    public var log: LogID?
    /// Earlier logs of the room, each with the highest offset up to which it has the messages of this log.
    public var branches: [LogID: UInt64] = [:]
    /// The highest offset stored; 0 when the room is new.
    public var lastOffset: UInt64
    /// The lowest offset that is kept; `lastOffset + 1` when none is.
    public var firstOffset: UInt64
    /// The counters accepted from each device.
    public var devices: [DeviceKey: DeviceRecord]
    /// The delivered and read offsets of accounts.
    public var progress: [AccountName: AccountProgress]
    /// The roles in the form in which they were saved; nil if none were saved.
    public var roles: [UInt8]?
    /// The version of the roles in a `shared` store, which each save of them raises by one; 0 if none were saved.
    public var rolesVersion: UInt64 = 0
    /// The membership records of the room.
    public var memberships: [AccountName: MembershipRecord] = [:]
    /// The room's own bounds of retention.
    public var retention = RoomRetention()

    /// A room's state.
    public init(
        log: LogID? = nil, lastOffset: UInt64 = 0, firstOffset: UInt64 = 1, devices: [DeviceKey: DeviceRecord] = [:],
        progress: [AccountName: AccountProgress] = [:], roles: [UInt8]? = nil
    ) {
        self.roles = roles
        self.log = log
        self.lastOffset = lastOffset
        self.firstOffset = firstOffset
        self.devices = devices
        self.progress = progress
    }
}

/// The durable part of a room's log: its identity, its offsets, and its last messages in memory.
///
/// | state of a message | owns | ends |
/// |---|---|---|
/// | unoffered | an entry in the tail | `endOffer`, when every member was offered it |
/// | in memory | an entry in the tail | the bounds of the tail, a shortage of memory |
struct RoomLog: Sendable {
    /// The durable messages that a room keeps in memory.
    static let tailBounds = LogRows.Bounds(maxCount: 1024, maxByteCount: 1024 * 1024)  // bound
    /// The bounds when memory is short.
    static let minTailBounds = LogRows.Bounds(maxCount: 16, maxByteCount: 4096)  // bound
    /// Bytes of bodies in one array, which a queue that holds any of them retains.
    static let rowByteCount = 64 * 1024  // bound

    /// The number of erasures during a read beyond which it fails (Specs/hostile.md row 100).
    static let maxErasureCount = 256

    /// The log's identity in the store.
    private(set) var id: LogID?
    private let branches: [LogID: UInt64]
    private(set) var tail = LogRows(next: 1)
    private(set) var firstOffset: UInt64 = 1
    /// The highest durable offset.
    private(set) var lastOffset: UInt64 = 0
    /// Whether messages have become durable that the members were not offered.
    private(set) var hasUnoffered = false
    /// The number of erasures that have become durable, and the last of them.
    private(set) var erasureCount: UInt64 = 0
    private(set) var recentErasures: [MessageErasure] = []

    init() { branches = [:] }

    init(_ snapshot: RoomSnapshot) {
        id = snapshot.log
        branches = snapshot.branches
        firstOffset = snapshot.firstOffset
        lastOffset = snapshot.lastOffset
        tail = LogRows(next: lastOffset + 1)
    }

    /// The highest offset up to which another log has the messages of this one; nil for this log and an unknown one
    ///
    func branch(of log: LogID?) -> UInt64? {
        log.flatMap { $0 == id ? nil : branches[$0] }
    }

    /// The cursor of a session that opens the room.
    func cursor(of open: Open) -> UInt64 {
        let isOfAnotherLog = open.log != nil && id != nil && open.log != id
        let cursor = min(open.cursor, isOfAnotherLog ? branch(of: open.log) ?? 0 : lastOffset)
        return open.tail.map { max(cursor, lastOffset - min(lastOffset, UInt64($0))) } ?? cursor
    }

    /// Appends durable messages, in the array that went to the store unless it is large.
    mutating func append(_ entries: ArraySlice<LogEntry>) {
        guard let newest = entries.last else { return }
        lastOffset = newest.offset
        hasUnoffered = true
        var start = entries.startIndex
        while start < entries.endIndex {
            var end = start
            var byteCount = 0
            repeat {
                byteCount += entries[end].body.byteCount
                end += 1
            } while end < entries.endIndex && byteCount + entries[end].body.byteCount <= RoomLog.rowByteCount
            let row = entries[start..<end]
            tail.append(row.count == entries.count ? row : ArraySlice(Array(row)))
            start = end
        }
    }

    /// Replaces the bodies of erased messages that are in memory.
    mutating func erase(_ erasures: [MessageErasure]) {
        tail.erase(erasures)
        erasureCount += UInt64(erasures.count)
        recentErasures = (recentErasures + erasures).suffix(RoomLog.maxErasureCount)
    }

    /// The result of a read that began after a number of erasures, with the bodies of messages that were erased since
    /// . Nil if these are too many, so that the read fails.
    func withoutErased(_ entries: [LogEntry]?, since count: UInt64) -> [LogEntry]? {
        guard count < erasureCount else { return entries }
        let missed = erasureCount - count
        guard missed <= UInt64(recentErasures.count) else { return nil }
        let since = Array(recentErasures.suffix(Int(missed)))
        return entries?.map { since.erased($0) ?? $0 }
    }

    /// Every member was offered the messages.
    mutating func endOffer() {
        hasUnoffered = false
        tail.trim(to: RoomLog.tailBounds)
    }

    /// The store keeps no lower offset.
    mutating func raiseFirstOffset(to offset: UInt64) { firstOffset = max(firstOffset, offset) }

    /// Removes all but the last few messages from memory; the store has them.
    mutating func trimTail() { tail.trim(to: RoomLog.minTailBounds) }

    /// Removes all messages from memory; the store has them.
    mutating func removeTail() { tail = LogRows(next: lastOffset + 1) }
}
