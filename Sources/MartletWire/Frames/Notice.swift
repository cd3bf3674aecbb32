/// Why a peer is turned away, and what it may do next: the body of reject and goaway.
public struct Notice: Equatable, Sendable {
    /// The most bytes of UTF-8 in a redirect.
    public static let maxRedirectByteCount = 512
    /// The most versions named.
    public static let maxVersionCount = 16

    /// What happened.
    public let code: ErrorCode
    /// The same for people, at most 256 bytes.
    public let reason: String?
    /// How long to stay away, in whole milliseconds.
    public let retryAfter: Duration?
    /// The endpoint to try instead, 1…512 bytes.
    public let redirect: String?
    /// What is spoken here, said when the peer's version is not.
    public let spokenVersions: [WireVersion]

    /// A notice; `reason` is cut to 256 bytes, `retryAfter` rounded down to milliseconds.
    ///
    /// - Precondition: `redirect` has 1…512 bytes; at most ``maxVersionCount`` versions.
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
