public import MartletWire

/// A message as a room's log holds it.
public struct LogEntry: Sendable {
    /// Its place in the room; 1 is the first.
    public var offset: UInt64
    /// Who sent it, from which device, under which number of that device's.
    public var sender: AccountName
    /// The sender's device.
    public var device: DeviceID
    /// The device's own number for the message.
    public var counter: UInt64
    /// When the relay accepted it, in milliseconds since 1970.
    public var acceptedAt: UInt64
    /// The body as it goes to members, with the relay's fields in front.
    public var body: EncodedBody

    /// A log entry.
    public init(
        offset: UInt64, sender: AccountName, device: DeviceID, counter: UInt64, acceptedAt: UInt64, body: EncodedBody
    ) {
        self.offset = offset
        self.sender = sender
        self.device = device
        self.counter = counter
        self.acceptedAt = acceptedAt
        self.body = body
    }
}

/// A device as rooms know it; the account is part of it, so nobody can speak for another's device (C-2).
public struct DeviceKey: Hashable, Sendable {
    /// The account the device authenticated as.
    public var account: AccountName
    /// The device's own ID.
    public var device: DeviceID

    /// A device of an account.
    public init(account: AccountName, device: DeviceID) {
        self.account = account
        self.device = device
    }
}

/// What a store knows about a room when the relay opens it.
public struct RoomSnapshot: Sendable {
    /// The highest offset stored; 0 when the room is new.
    public var head: UInt64
    /// The lowest offset still kept; `head + 1` when nothing is.
    public var first: UInt64
    /// The highest counter accepted from each device.
    public var watermarks: [DeviceKey: UInt64]

    /// A room's state.
    public init(head: UInt64 = 0, first: UInt64 = 1, watermarks: [DeviceKey: UInt64] = [:]) {
        self.head = head
        self.first = first
        self.watermarks = watermarks
    }
}

/// The end of a room's log in memory: what was accepted lately, whether or not it is durable yet.
struct LogTail: Sendable {
    /// Messages that a room keeps in memory at the most, beside those not stored yet.
    static let maxCount = 1024
    /// Bytes of bodies that a room keeps in memory at the most, beside those not stored yet.
    static let maxByteCount = 1024 * 1024

    private var entries = Deque<LogEntry>()
    private(set) var byteCount = 0
    /// The offset of the first entry held; one past the head when none is.
    private(set) var first: UInt64

    init(first: UInt64) {
        self.first = first
    }

    var end: UInt64 { first + UInt64(entries.count) }
    var isEmpty: Bool { entries.isEmpty }

    subscript(offset: UInt64) -> LogEntry? {
        guard offset >= first, offset < end else { return nil }
        return entries[Int(offset - first)]
    }

    /// The entries from the first of a range on, up to its last: as many as begin within so many bytes.
    func entries(_ offsets: ClosedRange<UInt64>, maxByteCount: Int) -> ArraySlice<LogEntry> {
        var result: [LogEntry] = []
        var byteCount = 0
        var position = Int(offsets.lowerBound - first)
        while position < entries.count, entries[position].offset <= offsets.upperBound, byteCount < maxByteCount {
            result.append(entries[position])
            byteCount += entries[position].body.byteCount
            position += 1
        }
        return result[...]
    }

    mutating func append(_ entry: LogEntry) {
        entries.append(entry)
        byteCount += entry.body.byteCount
    }

    /// Lets go of the oldest entries that are over the bounds, never of one that is not stored.
    mutating func trim(durable: UInt64) {
        while first <= durable, entries.count > LogTail.maxCount || byteCount > LogTail.maxByteCount,
            let entry = entries.popFirst()
        {
            first += 1
            byteCount -= entry.body.byteCount
        }
    }

    /// Takes back what was appended beyond `offset`, because the store did not take it.
    mutating func rollBack(to offset: UInt64) {
        while end > offset + 1, let entry = entries.popLast() { byteCount -= entry.body.byteCount }
    }

    /// What is left of an empty tail.
    mutating func pass(_ packer: inout Packer) {
        packer.pass(&first)
    }
}
