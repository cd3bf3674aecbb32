/// The contents of `reject` and `goaway`: the reason, and the next step of the peer.
public struct Notice: Equatable, Sendable {
    /// The maximum number of bytes of UTF-8 in a redirect.
    public static let maxRedirectByteCount = 512
    /// The maximum number of versions in a notice.
    public static let maxVersionCount = 16

    /// The reason as a code.
    public let code: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    public let reason: String?
    /// The minimum duration until the peer connects again, in whole milliseconds; nil for the peer's own choice.
    public let retryAfter: Duration?
    /// The endpoint to which the peer connects instead, 1 to 512 bytes.
    public let redirect: String?
    /// The supported versions, if the peer's version is not supported.
    public let spokenVersions: [WireVersion]

    /// Creates a notice. `reason` is truncated to 256 bytes, and `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `redirect` has 1 to 512 bytes, and there are at most ``maxVersionCount`` versions.
    public init(
        code: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil, redirect: String? = nil,
        spokenVersions: [WireVersion] = []
    ) {
        if let redirect {
            precondition((1...Self.maxRedirectByteCount).contains(redirect.utf8.count), "redirect not 1…512 bytes")
        }
        precondition(spokenVersions.count <= Self.maxVersionCount, "more versions than a frame may name")
        self.code = code
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
        self.redirect = redirect
        self.spokenVersions = spokenVersions
    }

    init(parsing body: RawSpan) throws(WireError) {
        var code: ErrorCode?
        var reason: String?
        var retryAfter: Duration?
        var redirect: String?
        var spokenVersions: [WireVersion] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .redirect:
                try redirect.fill(
                    .redirect, field.string(minByteCount: 1, maxByteCount: Self.maxRedirectByteCount))
            case .spokenVersion: try spokenVersions.append(field.version(), limit: Self.maxVersionCount)
            default: try field.skip()
            }
        }
        self.init(
            code: try code.required(.code), reason: reason, retryAfter: retryAfter, redirect: redirect,
            spokenVersions: spokenVersions)
    }

    func encode(into writer: inout TLVWriter) {
        writer.append(.code, uint16: code.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let redirect { writer.append(.redirect, string: redirect) }
        for version in spokenVersions { writer.append(.spokenVersion, version: version) }
    }
}
