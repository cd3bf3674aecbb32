/// What a side can do beyond the least; both sides' intersection is what holds on a connection.
///
/// Bits without a name are kept, so that a later minor's peer reads them back as it wrote them.
public struct Features: OptionSet, Hashable, Sendable {
    /// The bits on the wire.
    public let rawValue: UInt64

    /// A set by its bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Reads bodies compressed by zlib, each by itself.
    public static let zlib = Features(rawValue: 1 << 0)
    /// Answers or carries requests.
    public static let requests = Features(rawValue: 1 << 1)
    /// Sends and reads delivered and read receipts.
    public static let receipts = Features(rawValue: 1 << 2)
    /// Sends and reads presence and typing.
    public static let presence = Features(rawValue: 1 << 3)

    /// Reads packets of compact frames (W-76).
    public static let compact = Features(rawValue: 1 << 4)
    /// Reads packets that the connection's deflate stream has passed through; it needs `compact` (W-92).
    public static let sharedDeflate = Features(rawValue: 1 << 5)

    /// What version 1.0 knows: what two sides use unless they are told otherwise.
    public static let supported: Features = [.zlib, .requests, .receipts, .presence]
    /// All that is known here.
    public static let all: Features = supported.union([.compact, .sharedDeflate])

    /// The lowest version of the wire that has all of these.
    public var spokenVersion: WireVersion { contains(.compact) ? .newest : .current }

    /// Every version that a side with these features speaks, the lowest first (W-39, W-40).
    public var spokenVersions: [WireVersion] { contains(.compact) ? [.current, .newest] : [.current] }

    /// What of these a version has (W-76).
    public func available(in version: WireVersion) -> Features {
        version < .newest ? subtracting([.compact, .sharedDeflate]) : self
    }
}
