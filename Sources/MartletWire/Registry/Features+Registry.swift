// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Features {
    /// The endpoint parses bodies that are compressed by zlib, each on its own.
    public static let zlib = Features(rawValue: 1 << 0)
    /// The endpoint answers or forwards requests.
    public static let requests = Features(rawValue: 1 << 1)
    /// The endpoint sends and processes delivered and read receipts.
    public static let receipts = Features(rawValue: 1 << 2)
    /// The endpoint sends and processes presence and typing.
    public static let presence = Features(rawValue: 1 << 3)
    /// The endpoint parses packets of compact frames (W-76).
    public static let compact = Features(rawValue: 1 << 4)
    /// The endpoint parses packets of the connection's deflate stream. The feature requires `compact` (W-92).
    public static let sharedDeflate = Features(rawValue: 1 << 5)
    /// The endpoint serves or uses attachments at the relay.
    public static let attachments = Features(rawValue: 1 << 6)
    /// The endpoint serves or opens sessions of the kind account.
    public static let accountSession = Features(rawValue: 1 << 7)

    /// The features of version 1.0, which endpoints offer by default.
    public static let supported: Features = [.zlib, .requests, .receipts, .presence]
    /// All features of the newest version.
    public static let all: Features = supported.union([.compact, .sharedDeflate, .attachments, .accountSession])
}
