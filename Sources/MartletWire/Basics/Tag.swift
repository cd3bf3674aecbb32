/// Names a field. Containers hold TLVs again and are told by their number alone, so an unknown one can be walked too.
///
/// Numbers 0x4000 to 0x7FFF are free for applications.
public struct Tag: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The tag with that number; every number is one.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Whether a receiver that does not know the tag must refuse the frame instead of ignoring the field.
    @inlinable
    public var isCritical: Bool { rawValue & 0x8000 != 0 }

    /// Whether the value is again TLVs: 0x0100 to 0x01FF, critical or not (W-26).
    @inlinable
    public var isContainer: Bool { rawValue & 0x7F00 == 0x0100 }
}
