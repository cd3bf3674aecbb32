/// A version of the wire format. A receiver accepts an unknown minor version and refuses an unknown major version
/// (W-39).
public struct WireVersion: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number that increases when older receivers cannot parse the format.
    public var major: UInt8
    /// The number that increases when older receivers can skip the additions.
    public var minor: UInt8

    /// Creates the version with two numbers.
    @inlinable
    public init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// Creates the version from one number, the major version in the high byte, as in `Tag.spokenVersion`.
    @inlinable
    public init(rawValue: UInt16) {
        self.init(major: UInt8(rawValue >> 8), minor: UInt8(rawValue & 0xFF))
    }

    /// The version as one number, the major version in the high byte.
    @inlinable
    public var rawValue: UInt16 { UInt16(major) << 8 | UInt16(minor) }

    /// The version of the frame format, 1.0, which every header contains.
    @inlinable
    package static var current: WireVersion { WireVersion(major: 1, minor: 0) }

    /// The newest supported version: 1.1, which adds packets.
    @inlinable
    package static var newest: WireVersion { WireVersion(major: 1, minor: 1) }

    /// Returns whether the first version is lower.
    @inlinable
    public static func < (left: WireVersion, right: WireVersion) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The major and the minor version, separated by a dot.
    public var description: String {
        "\(major).\(minor)"
    }
}
