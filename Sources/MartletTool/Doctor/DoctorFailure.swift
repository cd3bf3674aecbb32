import MartletLink
import MartletToolSupport
import MartletTransport
import MartletWire

/// The reason why a step of `martlet doctor` failed.
enum DoctorFailure: Error, Equatable, Sendable {
    /// The system, the network or TLS reported an error.
    case transport(TransportError)
    /// The relay ended the connection without an answer.
    case ended
    /// The answer is not a stream of frames.
    case malformed(WireError)
    /// The answer is a frame that a relay does not send here.
    case unexpected(FrameType)
    /// The relay refused with a reject or a goaway.
    case refused(Notice)
    /// SCRAM accepts no such account or password.
    case invalidPassword
    /// The relay has not proved that it knows the password.
    case serverUnverified

    /// The failure that ended a connection.
    init(_ reason: CloseReason) {
        switch reason {
        case .endOfStream, .local: self = .ended
        case .reset: self = .transport(.reset)
        case .error(let error): self = .transport(error)
        }
    }

    /// Whether the hello has no answer of a relay.
    var isSilence: Bool {
        switch self {
        case .transport(.tls), .refused, .invalidPassword, .serverUnverified: false
        case .transport, .ended, .malformed, .unexpected: true
        }
    }

    /// The failure of a step after the connection was opened. A timeout of such a step is a fault of the service, and
    /// not of the path.
    var explanationWhenConnected: DoctorExplanation {
        guard case .transport(.timedOut) = self else { return explanation }
        return DoctorExplanation(
            .unavailable, "timedOut", "the connection is open, but no answer came before the timeout",
            "check that the service at this port is a relay, and see its log")
    }

    /// The failure for people and programs.
    var explanation: DoctorExplanation {
        switch self {
        case .transport(let error): DoctorExplanation(error)
        case .ended:
            DoctorExplanation(
                .protocolError, "ended", "the connection was ended without an answer",
                "see the log of the relay, which may have too many connections of this address, or check host and port")
        case .malformed(let error): DoctorExplanation(error)
        case .unexpected(let type):
            DoctorExplanation(
                .protocolError, "unexpectedFrame", "the answer is the unexpected frame \(type)",
                "check host and port, since another service answers at this address")
        case .refused(let notice): DoctorExplanation(notice)
        case .invalidPassword:
            DoctorExplanation(
                .usage, "invalidPassword", "the password or the account has characters that are not allowed",
                "check --account and the first line of --password-file")
        case .serverUnverified:
            DoctorExplanation(
                .protocolError, "serverUnverified", "the relay has not proved that it knows the password",
                "check host and port, since this may be another relay")
        }
    }
}

/// A failure as the command prints it: its exit code, its name, the findings, and the next step of the user.
struct DoctorExplanation: Equatable, Sendable {
    var code: ExitCode
    /// The name in the JSON object.
    var name: String
    var found: String
    var advice: String

    init(_ code: ExitCode, _ name: String, _ found: String, _ advice: String) {
        self.code = code
        self.name = name
        self.found = found
        self.advice = advice
    }
}

extension DoctorExplanation {
    /// Explains an address that cannot be parsed.
    init(_ error: EndpointError) {
        switch error {
        case .empty:
            self.init(.usage, "empty", "the address is empty", "give the host of a relay, such as chat.example.com")
        case .unknownScheme(let scheme):
            self.init(
                .usage, "unknownScheme", "the scheme \(scheme):// is unknown",
                "use martlets:// or wss:// with TLS, or martlet:// or ws:// without")
        case .invalidHost(let host):
            self.init(
                .usage, "invalidHost", "\"\(host)\" is neither a host name nor an address",
                "write an international name in its xn-- form")
        case .numericHost(let host):
            self.init(
                .usage, "numericHost", "\"\(host)\" ends in a number, but is no address",
                "write an IPv4 address as four decimal numbers, as in 127.0.0.1")
        case .hostTooLong(let limit):
            self.init(
                .usage, "hostTooLong", "the host name has more than \(limit) bytes", "correct the host name")
        case .invalidPort(let port):
            self.init(.usage, "invalidPort", "\"\(port)\" is no port", "give a number from 1 to 65535")
        case .unbracketedIPv6:
            self.init(
                .usage, "unbracketedIPv6", "an IPv6 address has no brackets", "write it in brackets, as in [::1]:7227")
        case .trailingText(let text):
            self.init(.usage, "trailingText", "\"\(text)\" follows the host", "end the address with the port")
        case .invalidPath(let path):
            self.init(
                .usage, "invalidPath", "\"\(path)\" is no path", "give the path of a URL, such as /martlet")
        }
    }

    /// Explains an error of name resolution, of a connection or of TLS.
    init(_ error: TransportError) {
        switch error {
        case .resolutionFailed:
            self.init(
                .noHost, "resolutionFailed", "\(error)", "check the spelling of the name and the DNS of this machine")
        case .noAddresses:
            self.init(.noHost, "noAddresses", "the name has no address", "add an A or AAAA record for the name")
        case .timedOut:
            self.init(
                .unavailable, "timedOut", "no answer before the timeout",
                "check whether the host runs, and whether a firewall drops the packets")
        case .refused:
            self.init(
                .unavailable, "refused", "the connection was refused",
                "start the relay, or correct the port")
        case .reset:
            self.init(
                .unavailable, "reset", "the connection was reset",
                "see the log of the relay, or check the firewalls on the path")
        case .unreachable:
            self.init(
                .unavailable, "unreachable", "there is no route to the address",
                "check the network of this machine, and whether it has addresses of this family")
        case .permissionDenied:
            self.init(
                .unavailable, "permissionDenied", "the system denies the connection",
                "check the firewall of this machine")
        case .tls(let error): self.init(error)
        case .proxy(let error):
            self.init(.unavailable, "proxy", "\(error)", Self.adviceOfProxy)
        case .webSocket(let error):
            self.init(
                .protocolError, "webSocket", "\(error)",
                "check the path, and whether the proxy in front of the relay passes WebSockets on")
        default: self.init(.unavailable, "system", "\(error)", "check the network of this machine")
        }
    }

    private static let adviceOfProxy =
        "check the address of the proxy with its user name and password, in --proxy or in HTTPS_PROXY or ALL_PROXY, "
        + "and that it offers Basic or Digest"

    /// Explains the failures of all routes.
    init(_ failures: RouteFailures) {
        if let portal = failures.captivePortal {
            self.init(portal)
            return
        }
        let failure = failures.failure
        let advice = failure == .proxyFailure ? Self.adviceOfProxy : "check the network of this machine"
        self.init(.unavailable, failure.key, failures.detail, advice)
    }

    /// Explains a captive portal, in the words of a client's status.
    init(_ portal: CaptivePortal) {
        let key = ConnectionFailure.captivePortal.key
        self.init(.unavailable, key, "\(portal)", "open a page in a browser on this machine")
    }

    /// Explains a refused TLS handshake.
    init(_ error: TLSError) {
        let (name, advice) = Self.parts(error)
        self.init(.protocolError, name, "\(error)", advice)
    }

    private static func parts(_ error: TLSError) -> (name: String, advice: String) {
        let otherService = "check host and port, since another service or a proxy may answer at this address"
        return switch error {
        case .invalidFile: ("invalidFile", "check the file")
        case .keyMismatch: ("keyMismatch", "give the key of the certificate")
        case .invalidHost: ("invalidHost", "correct the host")
        case .expired: ("expired", "renew the certificate of the relay, or correct the clock of this machine")
        case .notYetValid: ("notYetValid", "correct the clock of this machine, or replace the certificate")
        case .wrongHost: ("wrongHost", "connect to a name of the certificate, or issue it for this name")
        case .unknownIssuer:
            (
                "unknownIssuer",
                "give its authority's certificate with --trust, and let the relay send intermediate certificates"
            )
        case .selfSigned: ("selfSigned", "give the certificate with --trust, or its key with --pin")
        case .pinMismatch: ("pinMismatch", "give the current pins of the relay, after checking them on another path")
        case .weakKey: ("weakKey", "issue the certificate with a key of at least 2048 bits or on a curve")
        case .invalidCertificate: ("invalidCertificate", "replace the certificate of the relay")
        case .missingCertificate: ("missingCertificate", "configure the relay with a certificate")
        case .noCommonVersion: ("noCommonVersion", "let the relay support TLS 1.2 or later")
        case .noCommonProtocol:
            ("noCommonProtocol", "let the server offer martlet/1, or \(otherService)")
        case .notTLS: ("notTLS", "use martlet:// for a relay without TLS, or \(otherService)")
        case .alert:
            ("alert", "see the log of the relay, which may require a client certificate (--certificate, --key)")
        case .truncatedHandshake: ("truncatedHandshake", otherService)
        case .limitExceeded: ("limitExceeded", otherService)
        case .protocolError: ("protocolError", otherService)
        }
    }

    /// Explains bytes that are not frames. A TLS server answers a hello with an alert.
    init(_ error: WireError) {
        switch error {
        case .badMagic(let bytes) where bytes >> 16 == 0x1503:
            self.init(.protocolError, "isTLS", "the server uses TLS", "use martlets://")
        case .badMagic:
            self.init(
                .protocolError, "badMagic", "the answer is not the protocol of a relay",
                "check host and port, since another service answers at this address")
        default:
            self.init(
                .protocolError, error.code.name, "the answer is invalid: \(error.code)",
                "check the version of the relay, and whether a proxy changes the bytes")
        }
    }

    /// Explains a reject or a goaway.
    init(_ notice: Notice) {
        let name = notice.code.name
        var found = "the relay refuses: \(notice.code)"
        if let reason = notice.reason { found += " (\(reason))" }
        if let delay = notice.retryAfter { found += ", try again after \(Quantity.text(delay))" }
        if let redirect = notice.redirect {
            self.init(.unavailable, name, found + ", redirected to \(redirect)", "check that address")
            return
        }
        switch notice.code {
        case .unauthenticated:
            self.init(.noPermission, name, found, "check --account, and --token or --password-file")
        case .forbidden, .revoked:
            self.init(.noPermission, name, found, "ask the operator of the relay to admit this account")
        case .unsupportedVersion:
            let versions = notice.spokenVersions.map(\.description).joined(separator: ", ")
            if !versions.isEmpty { found += ", it supports \(versions)" }
            self.init(.protocolError, name, found, "install a version of this program for that version")
        case .serverBusy where notice.reason != nil:
            self.init(
                .unavailable, name, found,
                "try again later; after failed sign-ins first correct the credential of the client that retries")
        case .serverBusy, .draining, .authTimeout, .storeUnavailable:
            self.init(.unavailable, name, found, "try again later")
        case .tooManyLinks:
            self.init(.unavailable, name, found, "stop other clients of this account")
        default:
            self.init(.protocolError, name, found, "see the log of the relay")
        }
    }
}
