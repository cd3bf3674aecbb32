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
