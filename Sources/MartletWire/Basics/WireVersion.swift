/// A version of the wire format. An unknown minor is accepted, an unknown major refused (W-39).
public struct WireVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Changes when an older reader can no longer read.
    public var major: UInt8
    /// Changes when something is added that an older reader can skip.
    public var minor: UInt8

    /// The version with these two numbers.
    @inlinable
    public init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// The version as one number, major in the high byte, as `Tag.spokenVersion` carries it.
    @inlinable
    public init(packed: UInt16) {
        self.init(major: UInt8(packed >> 8), minor: UInt8(packed & 0xFF))
    }

    /// The version as one number, major in the high byte.
    @inlinable
    public var packed: UInt16 { UInt16(major) << 8 | UInt16(minor) }

    /// The version of a frame's form, which the header names: 1.0.
    @inlinable
    public static var current: WireVersion { WireVersion(major: 1, minor: 0) }

    /// The newest version this code speaks: 1.1, which adds packets.
    @inlinable
    public static var newest: WireVersion { WireVersion(major: 1, minor: 1) }

    /// Orders by major, then minor.
    @inlinable
    public static func < (left: WireVersion, right: WireVersion) -> Bool {
        left.packed < right.packed
    }

    /// Major, a dot, minor.
    public var description: String {
        "\(major).\(minor)"
    }
}
