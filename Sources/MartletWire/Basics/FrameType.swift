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
    public var isCritical: Bool { rawValue & 0x8000 != 0 }
}
