// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Features {
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
}
