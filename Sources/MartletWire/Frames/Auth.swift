/// A message of an authentication exchange before welcome, or of the renewal of a credential after it (W-97).
public struct Auth: FrameBody {
    /// The type `auth`, 0x4005.
    public static let type = FrameType.auth

    /// The message of the exchange, or the new credential; nil in the answer to a renewal.
    public let credential: Credential?
    /// The duration until the new credential expires, in whole milliseconds; nil if it does not.
    public let credentialLifetime: Duration?

    /// Creates the frame. The duration is rounded down to milliseconds.
    public init(credential: Credential? = nil, credentialLifetime: Duration? = nil) {
        self.credential = credential
        self.credentialLifetime = credentialLifetime?.roundedDown(to: .milliseconds)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var credential: Credential?
        var credentialLifetime: Duration?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .credential: try credential.fill(.credential, field.credential())
            case .credentialLifetime: try credentialLifetime.fill(.credentialLifetime, field.duration(.milliseconds))
            default: try field.skip()
            }
        }
        self.init(credential: credential, credentialLifetime: credentialLifetime)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        if let credential { writer.append(.credential, bytes: credential.bytes) }
        if let credentialLifetime { writer.append(.credentialLifetime, duration: credentialLifetime, .milliseconds) }
    }
}
