/// What a frame is for. Numbers outside the registry are legal: such a frame is skipped, or refused when critical.
public struct FrameType: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The type with that number; every number is one.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Whether a receiver that does not know the type must refuse the frame instead of skipping it.
    @inlinable
    public var isCritical: Bool { rawValue & 0x8000 != 0 }
}
