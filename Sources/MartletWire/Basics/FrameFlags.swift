/// The priority of a frame. More urgent priorities sort first.
public enum Priority: UInt8, Comparable, CaseIterable, Sendable {
    /// The priority of acknowledgements and other control frames of the link.
    case urgent = 0
    /// The priority of frames that are sent before normal ones.
    case high
    /// The default priority.
    case normal
    /// The priority of frames that are sent when no others are queued, within the bound of the scheduler.
    case low

    /// Returns whether the first priority is more urgent than the second.
    @inlinable
    public static func < (left: Priority, right: Priority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The flag byte of a header: four flags, two bits of priority, and two bits that version 1.0 reserves.
public struct FrameFlags: OptionSet, Hashable, Sendable {
    /// The byte on the wire.
    public var rawValue: UInt8

    /// Creates the flags from a byte, reserved bits included.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Creates a copy of `flags` with the two bits of `priority`.
    @inlinable
    package init(_ flags: FrameFlags = [], priority: Priority) {
        rawValue = flags.rawValue
        self.priority = priority
    }

    /// The priority in the two bits 0x30.
    @inlinable
    public var priority: Priority {
        get {
            switch rawValue & 0x30 {
            case 0x00: .urgent
            case 0x10: .high
            case 0x20: .normal
            default: .low
            }
        }
        set { rawValue = rawValue & ~0x30 | newValue.rawValue << 4 }
    }
}
