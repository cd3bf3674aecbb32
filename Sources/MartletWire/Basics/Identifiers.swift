/// Names one logical channel on a link; the side that opens takes odd (client) or even (server) numbers.
public struct SessionID: RawRepresentable, Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The link's own control session.
    @inlinable
    public static var control: SessionID { SessionID(rawValue: 0) }

    /// The identifier with that number; every number is one.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Orders by number.
    @inlinable
    public static func < (left: SessionID, right: SessionID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String {
        String(rawValue)
    }
}

/// Names the resumable relation between one device and one server.
public struct LinkID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// The identifier with that number; every number is one.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Orders by number.
    @inlinable
    public static func < (left: LinkID, right: LinkID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// Names one device of an account; said once, in hello.
public struct DeviceID: RawRepresentable, Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// The identifier with that number; every number is one.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Orders by number.
    @inlinable
    public static func < (left: DeviceID, right: DeviceID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// Names one log of a room: a log that begins anew, at offset 1, has another.
public struct LogID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// The identifier with that number; every number is one.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// Counts the accepted resumes of a link, so that an older connection's frames can be told and fenced off (W-47).
public struct Epoch: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt32

    /// The identifier with that number; every number is one.
    @inlinable
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Orders by number.
    @inlinable
    public static func < (left: Epoch, right: Epoch) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String {
        String(rawValue)
    }
}

/// What makes a message one and the same, however often it is sent: its account, its device and a counter that the
/// device never reuses (W-60). Device IDs are chosen by clients and mean something within an account only; the account
/// is the one that the relay authenticated, so no other can make messages of the same ID.
public struct MessageID: Hashable, Sendable, CustomStringConvertible {
    /// The sending account.
    public var sender: AccountName
    /// The sending device, of that account.
    public var device: DeviceID
    /// The device's own count, from 1.
    public var counter: UInt64

    /// The message of `device` of `sender` with that `counter`.
    @inlinable
    public init(sender: AccountName, device: DeviceID, counter: UInt64) {
        self.sender = sender
        self.device = device
        self.counter = counter
    }

    /// The account, a slash, the device in hexadecimal, a slash, the counter.
    public var description: String {
        "\(sender.text)/\(device)/\(counter)"
    }
}
