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
