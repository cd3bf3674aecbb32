import CMartletTLS

/// A failure of TLS. The associated texts describe the certificate of the failed check.
public enum TLSError: Error, Sendable, Hashable {
    /// A file cannot be read, or is not a valid PEM file.
    case invalidFile(path: String, reason: String)
    /// The private key does not belong to the certificate.
    case keyMismatch(path: String)
    /// The host of an endpoint cannot be verified, because it is neither a name nor an address.
    case invalidHost(String)

    /// The certificate has expired.
    case expired(subject: String, on: String)
    /// The certificate is not valid yet.
    case notYetValid(subject: String, until: String)
    /// The certificate is for other hosts.
    case wrongHost(host: String, names: String)
    /// The issuer of the certificate is not trusted.
    case unknownIssuer(subject: String, issuer: String)
    /// The certificate is self-signed and not trusted.
    case selfSigned(subject: String)
    /// The certificate's key is not one of the pinned keys.
    case pinMismatch(subject: String)
    /// A key or a signature is too weak: below 112 bits of security.
    case weakKey(subject: String, reason: String)
    /// Another check of the certificate failed.
    case invalidCertificate(subject: String, reason: String)
    /// The peer sent no certificate.
    case missingCertificate

    /// The peers have no common version. The minimum is TLS 1.2.
    case noCommonVersion
    /// The peers have no common application protocol (RFC 7301).
    case noCommonProtocol
    /// The peer does not use TLS.
    case notTLS
    /// The peer ended the handshake with this alert.
    case alert(String)
    /// The connection ended during the handshake.
    case truncatedHandshake
    /// The peer exceeded a limit, which the text names.
    case limitExceeded(String)
    /// The peer violated the protocol in another way.
    case protocolError(String)

    /// The failure of a connection to `host`, or of a context.
    init(_ failure: martlet_tls_failure, host: String = "") {
        let subject = text(of: failure.subject)
        let reason = text(of: failure.text)
        switch martlet_tls_failure_kind(UInt32(failure.kind)) {
        case martlet_tls_failure_bad_file: self = .invalidFile(path: subject, reason: reason)
        case martlet_tls_failure_key_mismatch: self = .keyMismatch(path: subject)
        case martlet_tls_failure_expired: self = .expired(subject: subject, on: text(of: failure.date))
        case martlet_tls_failure_not_yet_valid:
            self = .notYetValid(subject: subject, until: text(of: failure.date))
        case martlet_tls_failure_wrong_host: self = .wrongHost(host: host, names: text(of: failure.names))
        case martlet_tls_failure_unknown_issuer:
            self = .unknownIssuer(subject: subject, issuer: text(of: failure.issuer))
        case martlet_tls_failure_self_signed: self = .selfSigned(subject: subject)
        case martlet_tls_failure_pin_mismatch: self = .pinMismatch(subject: subject)
        case martlet_tls_failure_weak: self = .weakKey(subject: subject, reason: reason)
        case martlet_tls_failure_invalid_certificate: self = .invalidCertificate(subject: subject, reason: reason)
        case martlet_tls_failure_no_certificate: self = .missingCertificate
        case martlet_tls_failure_version: self = .noCommonVersion
        case martlet_tls_failure_no_protocol: self = .noCommonProtocol
        case martlet_tls_failure_not_tls: self = .notTLS
        case martlet_tls_failure_alert: self = .alert(reason)
        case martlet_tls_failure_limit: self = .limitExceeded(reason)
        default: self = .protocolError(reason)
        }
    }
}

extension TLSError: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .invalidFile(let path, let reason): "\(path): \(reason)"
        case .keyMismatch(let path): "\(path): the key does not belong to the certificate"
        case .invalidHost(let host): "\"\(host)\" is neither a host name nor an address"
        case .expired(let subject, let date): "\(Self.certificate(of: subject)) expired on \(date)"
        case .notYetValid(let subject, let date): "\(Self.certificate(of: subject)) is not valid before \(date)"
        case .wrongHost(let host, let names):
            "the certificate is not for \(host), but for \(names.isEmpty ? "no host" : names)"
        case .unknownIssuer(let subject, let issuer):
            "\(Self.certificate(of: subject)) has "
                + (issuer.isEmpty ? "an unknown issuer" : "the unknown issuer \(issuer)")
        case .selfSigned(let subject): "\(Self.certificate(of: subject)) is self-signed"
        case .pinMismatch(let subject): "the key of \(Self.certificate(of: subject)) is not pinned"
        case .weakKey(let subject, let reason): "\(Self.certificate(of: subject)) is too weak: \(reason)"
        case .invalidCertificate(let subject, let reason): "\(Self.certificate(of: subject)) is invalid: \(reason)"
        case .missingCertificate: "the peer sent no certificate"
        case .noCommonVersion: "no common TLS version"
        case .noCommonProtocol: "no common application protocol"
        case .notTLS: "the peer does not use TLS"
        case .alert(let name): "the peer sent the alert \(name)"
        case .truncatedHandshake: "the connection ended during the TLS handshake"
        case .limitExceeded(let text): "the peer exceeded a TLS limit: \(text)"
        case .protocolError(let text): "TLS failed: \(text)"
        }
    }

    private static func certificate(of subject: String) -> String {
        subject.isEmpty ? "the certificate without a subject" : "the certificate of \(subject)"
    }
}

/// The terminated text in a fixed array of C.
private func text<Storage>(of storage: Storage) -> String {
    unsafe withUnsafeBytes(of: storage) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
