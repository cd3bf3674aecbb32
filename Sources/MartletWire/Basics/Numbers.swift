/// The type of a frame.
///
/// Numbers outside the registry are valid: a receiver skips such a frame, or refuses it if the type is critical (W-73).
public struct FrameType: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// Creates the type with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Whether a receiver that does not know the type must refuse the frame instead of skipping it.
    @inlinable
    package var isCritical: Bool { rawValue & 0x8000 != 0 }
}

/// The tag of a field.
///
/// The number alone indicates whether the field is a container, so a reader can walk unknown containers too (W-26).
/// Numbers 0x4000 to 0x7FFF are available to applications.
public struct Tag: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// Creates the tag with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Whether a receiver that does not know the tag must refuse the frame instead of ignoring the field.
    @inlinable
    public var isCritical: Bool { rawValue & 0x8000 != 0 }

    /// Whether the value consists of TLVs: 0x0100 to 0x01FF, critical or not (W-26).
    @inlinable
    public var isContainer: Bool { rawValue & 0x7F00 == 0x0100 }
}

/// A code that states on the wire why an endpoint refused or ended something.
///
/// Numbers from 0xF000 are available to applications.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// Creates the code with a number. Every number is valid.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

/// The kind of a message's content. Kinds without a name in this version are forwarded unchanged.
public struct ContentKind: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Creates the kind with a number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Whether the kind is in the range for applications, 0xF000 to 0xFFFE.
    public var isApplicationDefined: Bool { (0xF000...0xFFFE).contains(rawValue) }
}

/// The optional features of an endpoint. The intersection of both endpoints' features is in effect on a connection.
///
/// Unknown bits are preserved when a set is parsed and encoded.
public struct Features: OptionSet, Hashable, Sendable {
    /// The bits on the wire.
    public let rawValue: UInt64

    /// Creates a set from its bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The lowest version of the wire format that contains all features of the set.
    package var spokenVersion: WireVersion { contains(.compact) ? .newest : .current }

    /// All versions that an endpoint with these features supports, in ascending order (W-39, W-40).
    package var spokenVersions: [WireVersion] { contains(.compact) ? [.current, .newest] : [.current] }

    /// Returns the features of the set that a version contains (W-76).
    package func available(in version: WireVersion) -> Features {
        version < .newest ? subtracting(Self.all.subtracting(.supported)) : self
    }
}

/// The compression of a frame's body (W-18).
public enum Compression: UInt8, Sendable {
    /// The body is not compressed.
    case none = 0
    /// Each body is compressed on its own, in zlib format (RFC 1950).
    case zlib = 1
    /// A number reserved for Deflate with a context shared by several bodies. Version 1.0 refuses it.
    case sharedDeflate = 2
}
