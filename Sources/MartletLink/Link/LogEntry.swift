public import MartletWire

/// A message in a room's log.
public struct LogEntry: Sendable {
    /// The position in the room's log, from 1.
    public var offset: UInt64
    /// The account that published the message.
    public var sender: AccountName
    /// The publisher's device.
    public var device: DeviceID
    /// The device's own number for the message.
    public var counter: UInt64
    /// The time at which the relay accepted the message, in milliseconds since 1970.
    public var acceptedAt: UInt64
    /// The body for members, with the relay's fields in front.
    public var body: EncodedBody
    /// The index of the device's deduplication window in the room, valid while the room is in memory; negative when it
    /// is unknown.
    @usableFromInline package let window: Int32
    /// The digest of the message's content, which a device's record keeps; 0 if it is unknown, as in an entry
    /// that was read from a store.
    @usableFromInline package let digest: UInt16

    /// A log entry.
    public init(
        offset: UInt64, sender: AccountName, device: DeviceID, counter: UInt64, acceptedAt: UInt64, body: EncodedBody
    ) {
        self.init(
            offset: offset, sender: sender, device: device, counter: counter, acceptedAt: acceptedAt,
            body: body.laidOut(), window: -1, digest: 0)
    }

    @inlinable @inline(__always)
    package init(
        offset: UInt64, sender: AccountName, device: DeviceID, counter: UInt64, acceptedAt: UInt64, body: EncodedBody,
        window: Int32, digest: UInt16
    ) {
        self.offset = offset
        self.sender = sender
        self.device = device
        self.counter = counter
        self.acceptedAt = acceptedAt
        self.body = body
        self.window = window
        self.digest = digest
    }

    /// Whether an entry that was published while the same room is in memory has the same device.
    @inlinable @inline(__always)
    package func hasSameDevice(as other: LogEntry) -> Bool {
        if window >= 0, other.window >= 0 { return window == other.window }
        return device == other.device && sender == other.sender
    }
}
