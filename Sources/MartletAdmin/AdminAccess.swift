import MartletHTTP

/// Decides about the credentials of a request.
///
/// | addresses | token | a request is accepted with |
/// |---|---|---|
/// | loopback only | none | a name of this machine in the field Host |
/// | loopback only | given | the token |
/// | others | none | a verified client certificate |
/// | others | given | the token, or a verified client certificate |
struct AdminAccess: Sendable {
    /// The token; nil for none.
    let token: String?
    /// Whether the port listens on an address that is not a loopback address.
    let requiresCredential: Bool

    /// Whether a text can be a token.
    static func isValid(_ token: String) -> Bool {
        (16...512).contains(token.utf8.count) && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Returns the refusal of a request; nil if it is accepted.
    func refusal(of request: HTTPRequest, hasCertificate: Bool) -> HTTPResponse? {
        if requiresCredential, hasCertificate { return nil }
        guard let token else {
            if requiresCredential { return HTTPResponse(.forbidden) }
            // Specs/hostile.md row 134
            return request.namesLoopback ? nil : HTTPResponse(.forbidden)
        }
        let prefix = "bearer "
        guard let credential = request["authorization"], credential.lowercased().hasPrefix(prefix),
            Self.areEqual(credential.dropFirst(prefix.count).utf8, token.utf8)
        else { return HTTPResponse(.unauthorized, [HTTPField("www-authenticate", "Bearer")]) }
        return nil
    }

    /// Compares in a time that does not depend on the position of a difference.
    private static func areEqual(_ given: Substring.UTF8View, _ expected: String.UTF8View) -> Bool {
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(UInt8(0)) { $0 | $1.0 ^ $1.1 } == 0
    }
}
