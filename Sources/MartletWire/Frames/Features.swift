/// What a side can do beyond the least; both sides' intersection is what holds on a connection.
///
/// Bits without a name are kept, so that a later minor's peer reads them back as it wrote them.
public struct Features: OptionSet, Hashable, Sendable {
    /// The bits on the wire.
    public let rawValue: UInt64

    /// A set by its bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The lowest version of the wire that has all of these.
    public var spokenVersion: WireVersion { contains(.compact) ? .newest : .current }

    /// Every version that a side with these features speaks, the lowest first (W-39, W-40).
    public var spokenVersions: [WireVersion] { contains(.compact) ? [.current, .newest] : [.current] }

    /// What of these a version has (W-76).
    public func available(in version: WireVersion) -> Features {
        version < .newest ? subtracting(Self.all.subtracting(.supported)) : self
    }
}
