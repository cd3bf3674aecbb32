/// The number of a session on its link.
///
/// The endpoint that opens a session assigns the number: a client odd numbers, a server even ones.
public struct SessionID: RawRepresentable, Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The control session of the link, number 0.
    @inlinable
    public static var control: SessionID { SessionID(rawValue: 0) }

    /// Creates the identifier with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Returns whether the first number is lower.
    @inlinable
    public static func < (left: SessionID, right: SessionID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String {
        String(rawValue)
    }
}

/// The identifier of a link, the resumable relation of a device and a server.
public struct LinkID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// Creates the identifier with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Returns whether the first number is lower.
    @inlinable
    public static func < (left: LinkID, right: LinkID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// The identifier of a device within its account. A client sends it once, in hello.
public struct DeviceID: RawRepresentable, Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// Creates the identifier with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Returns whether the first number is lower.
    @inlinable
    public static func < (left: DeviceID, right: DeviceID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// The identity of a room's log. A log that restarts at offset 1 has another identity.
public struct LogID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// Creates the identity with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// The identity of a relay's process among those that share a store.
public struct RelayID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt64

    /// Creates the identity with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Returns whether the first number is lower.
    @inlinable
    public static func < (left: RelayID, right: RelayID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in hexadecimal.
    public var description: String {
        hexadecimal(rawValue)
    }
}

/// The number of a link's connection, raised by each accepted resume. It identifies frames of older connections, which
/// are excluded by fencing (W-47).
public struct Epoch: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt32

    /// Creates the epoch with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Returns whether the first number is lower.
    @inlinable
    public static func < (left: Epoch, right: Epoch) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String {
        String(rawValue)
    }
}

/// The identity of a message: the account, the device and the counter of its publisher (W-60).
///
/// Every transmission of a message has the same identity, because a device never reuses a counter. Clients choose their
/// device IDs, which are unique within an account only. The relay authenticates the account, so no other account can
/// publish a message with the same identity.
public struct MessageID: Hashable, Sendable, CustomStringConvertible {
    /// The account of the publisher.
    public var sender: AccountName
    /// The device of the publisher within the account.
    public var device: DeviceID
    /// The counter that the device assigned, at least 1.
    public var counter: UInt64

    /// Creates the identity of the message that a device published with a counter.
    @inlinable
    public init(sender: AccountName, device: DeviceID, counter: UInt64) {
        self.sender = sender
        self.device = device
        self.counter = counter
    }

    /// The account, the device in hexadecimal and the counter in decimal, separated by slashes.
    public var description: String {
        "\(sender.text)/\(device)/\(counter)"
    }
}
