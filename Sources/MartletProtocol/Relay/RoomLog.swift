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
    /// Its device's place among the marks of the room that it was posted to, which holds as long as that room is in
    /// memory; negative when it is not known.
    @usableFromInline package let mark: Int32

    /// A log entry.
    public init(
        offset: UInt64, sender: AccountName, device: DeviceID, counter: UInt64, acceptedAt: UInt64, body: EncodedBody
    ) {
        self.init(
            offset: offset, sender: sender, device: device, counter: counter, acceptedAt: acceptedAt,
            body: body.laidOut(), mark: -1)
    }

    @inline(__always)
    init(
        offset: UInt64, sender: AccountName, device: DeviceID, counter: UInt64, acceptedAt: UInt64, body: EncodedBody,
        mark: Int32
    ) {
        self.offset = offset
        self.sender = sender
        self.device = device
        self.counter = counter
        self.acceptedAt = acceptedAt
        self.body = body
        self.mark = mark
    }

    /// Whether another that was posted to the same room since it is in memory is of the same device.
    @inlinable @inline(__always)
    package func hasSameDevice(as other: LogEntry) -> Bool {
        if mark >= 0, other.mark >= 0 { return mark == other.mark }
        return device == other.device && sender == other.sender
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
    /// The log's identity: chosen at random when the log begins, and another one when it begins anew. Nil when
    /// the store has none; then readers notice a log that began anew only while it is shorter than the one they know.
    public var log: LogID?
    /// The highest offset stored; 0 when the room is new.
    public var head: UInt64
    /// The lowest offset still kept; `head + 1` when nothing is.
    public var first: UInt64
    /// The highest counter accepted from each device.
    public var watermarks: [DeviceKey: UInt64]

    /// A room's state.
    public init(
        log: LogID? = nil, head: UInt64 = 0, first: UInt64 = 1, watermarks: [DeviceKey: UInt64] = [:]
    ) {
        self.log = log
        self.head = head
        self.first = first
        self.watermarks = watermarks
    }
}
