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

    /// All that this version knows.
    public static let supported: Features = [.zlib, .requests, .receipts, .presence]
}
