/// How urgent a frame is; urgent sorts first.
public enum Priority: UInt8, Comparable, CaseIterable, Sendable {
    /// Acknowledgements and whatever the link itself depends on.
    case urgent = 0
    /// Before what is usual.
    case high
    /// What is usual.
    case normal
    /// When nothing else waits, within the scheduler's bound.
    case low

    /// Orders the more urgent first.
    @inlinable
    public static func < (left: Priority, right: Priority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The header's flag byte: four flags, two bits of priority, two bits that version 1.0 reserves.
public struct FrameFlags: OptionSet, Hashable, Sendable {
    /// The byte on the wire.
    public var rawValue: UInt8

    /// The flags of that byte, reserved bits included.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// These flags with `priority` in its two bits.
    @inlinable
    public init(_ flags: FrameFlags = [], priority: Priority) {
        rawValue = flags.rawValue
        self.priority = priority
    }

    /// The two bits of priority.
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
