/// The optional features of an endpoint. The intersection of both endpoints' features is in effect on a connection.
///
/// Unknown bits are preserved when a set is parsed and encoded.
public struct Features: OptionSet, Hashable, Sendable {
    /// The bits on the wire.
    public let rawValue: UInt64

    /// Creates a set from its bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The lowest version of the wire format that contains all features of the set.
    public var spokenVersion: WireVersion { contains(.compact) ? .newest : .current }

    /// All versions that an endpoint with these features supports, in ascending order (W-39, W-40).
    public var spokenVersions: [WireVersion] { contains(.compact) ? [.current, .newest] : [.current] }

    /// Returns the features of the set that a version contains (W-76).
    public func available(in version: WireVersion) -> Features {
        version < .newest ? subtracting(Self.all.subtracting(.supported)) : self
    }
}
