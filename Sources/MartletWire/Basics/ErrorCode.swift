/// Why something was refused or ended, as it is said on the wire. Numbers from 0xF000 are for applications.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The code with that number; every number is one.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}
