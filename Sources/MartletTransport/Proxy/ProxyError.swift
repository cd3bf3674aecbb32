/// A failure of a proxy between this client and a server. No case contains a credential.
public enum ProxyError: Error, Sendable, Hashable {
    /// The proxy requires a user name and a password, and there are none.
    case authenticationRequired
    /// The proxy requires authentication by schemes of which the client supports none, such as NTLM and Negotiate; at
    /// most 64 bytes of ASCII.
    case unsupportedAuthentication(schemes: String)
    /// The proxy does not accept the credentials.
    case authenticationFailed
    /// The proxy answered CONNECT with this status of HTTP. The reason has at most 64 bytes of ASCII.
    case refused(status: UInt16, reason: String)
    /// The answer leads to a page of HTTP, as that of a captive portal does, on this host; nil if it names none.
    case redirected(status: UInt16, host: String?)
    /// The answer of an HTTP proxy is not HTTP, or too long.
    case invalidResponse
    /// The proxy does not use version 5 of SOCKS, or its answer is malformed.
    case invalidSOCKS
    /// The SOCKS proxy did not establish the connection.
    case reply(SOCKSReply)
    /// The proxy ended the connection before its answer.
    case closed
}

/// A failure that a SOCKS proxy reports (RFC 1928 §6).
public enum SOCKSReply: Sendable, Hashable {
    case generalFailure
    case notAllowed
    case networkUnreachable
    case hostUnreachable
    case connectionRefused
    case expired
    case commandNotSupported
    case addressTypeNotSupported
    /// A number without a meaning.
    case unassigned(UInt8)

    /// The reply of a number other than 0, which reports success.
    package init(_ number: UInt8) {
        self =
            switch number {
            case 1: .generalFailure
            case 2: .notAllowed
            case 3: .networkUnreachable
            case 4: .hostUnreachable
            case 5: .connectionRefused
            case 6: .expired
            case 7: .commandNotSupported
            case 8: .addressTypeNotSupported
            default: .unassigned(number)
            }
    }
}

extension SOCKSReply: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .generalFailure: "general failure"
        case .notAllowed: "not allowed by its rules"
        case .networkUnreachable: "network unreachable"
        case .hostUnreachable: "host unreachable"
        case .connectionRefused: "connection refused"
        case .expired: "time to live expired"
        case .commandNotSupported: "command not supported"
        case .addressTypeNotSupported: "address type not supported"
        case .unassigned(let number): "reply \(number)"
        }
    }
}

extension ProxyError: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .authenticationRequired: "the proxy requires a user name and a password"
        case .unsupportedAuthentication(let schemes):
            "the proxy requires authentication by \(schemes), which is not supported"
        case .authenticationFailed: "the proxy does not accept the user name and the password"
        case .refused(let status, let reason):
            "the proxy refuses with the status \(status)\(reason.isEmpty ? "" : " (\(reason))")"
        case .redirected(let status, let host):
            "the answer has the status \(status)\(host.map { " and leads to \($0)" } ?? "")"
        case .invalidResponse: "the proxy does not answer with HTTP"
        case .invalidSOCKS: "the proxy does not answer with SOCKS 5"
        case .reply(let reply): "the proxy reports: \(reply)"
        case .closed: "the proxy ended the connection before its answer"
        }
    }
}
