/// The address of a server as a URL: `martlets://chat.example.com:7227` (C-58).
public struct Endpoint: Hashable, Sendable {
    /// The encryption of the connection, given by the URL scheme.
    public enum Security: Sendable {
        /// `martlet://`: TCP without encryption.
        case plain
        /// `martlets://`: TLS.
        case tls

        /// The URL scheme.
        package var scheme: String { self == .plain ? "martlet" : "martlets" }
    }

    /// The default port (W-1).
    public static let defaultPort: UInt16 = 7227
    /// The maximum length of a host name in bytes (RFC 1035 §2.3.4, in textual form).
    package static let maxHostByteCount = 253

    /// The encryption of the connection.
    public let security: Security
    /// A lowercase host name, or a numeric address (IPv6 without brackets).
    public let host: String
    /// The port, from 1 to 65535.
    public let port: UInt16

    /// Whether the host is this machine: `localhost` or a numeric loopback address.
    package var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Creates an endpoint. Throws when `host` is empty, too long, or neither an ASCII host name nor a numeric address.
    package init(host: String, port: UInt16 = defaultPort, security: Security = .tls) throws(EndpointError) {
        guard !host.isEmpty else { throw .empty }
        guard host.utf8.count <= Self.maxHostByteCount else { throw .hostTooLong(limit: Self.maxHostByteCount) }
        guard port != 0 else { throw .invalidPort("0") }
        guard IPAddress(host) != nil || host.utf8.allSatisfy(isHostNameByte) else { throw .invalidHost(host) }
        self.host = host.lowercased()
        self.port = port
        self.security = security
    }

    /// Parses `martlet://host:port`, `martlets://host`, `host`, `host:port` or `[::1]:port`. `defaultSecurity` applies
    /// to texts without a scheme.
    package init(parsing text: String, defaultSecurity: Security = .tls) throws(EndpointError) {
        var rest = Substring(text)
        var security = defaultSecurity
        if let parts = Self.parts(ofURL: text) {
            switch parts.scheme.lowercased() {
            case Security.plain.scheme: security = .plain
            case Security.tls.scheme: security = .tls
            default: throw .unknownScheme(String(parts.scheme))
            }
            rest = parts.rest
            if rest.hasSuffix("/") { rest.removeLast() }
        }
        let (host, portText) = try Self.split(rest)
        var port = Self.defaultPort
        if let portText {
            guard let number = decimalPort(portText), number != 0 else { throw .invalidPort(String(portText)) }
            port = number
        }
        try self.init(host: String(host), port: port, security: security)
    }

    /// The scheme of a URL and the text behind `://`; nil without a scheme.
    package static func parts(ofURL text: String) -> (scheme: Substring, rest: Substring)? {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        return (text[..<colon], text[colon...].dropFirst(3))
    }

    private static func split(_ text: Substring) throws(EndpointError) -> (host: Substring, port: Substring?) {
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { throw .invalidHost(String(text)) }
            let host = text[text.index(after: text.startIndex)..<end]
            guard IPAddress(String(host))?.isIPv6 == true else { throw .invalidHost(String(host)) }
            let rest = text[text.index(after: end)...]
            if rest.isEmpty { return (host, nil) }
            guard rest.first == ":" else { throw .trailingText(String(rest)) }
            return (host, rest.dropFirst())
        }
        if let slash = text.firstIndex(of: "/") { throw .trailingText(String(text[slash...])) }
        guard let colon = text.firstIndex(of: ":") else { return (text, nil) }
        let rest = text[text.index(after: colon)...]
        guard !rest.contains(":") else { throw .unbracketedIPv6 }
        return (text[..<colon], rest)
    }
}

/// An error in the text of an endpoint.
package enum EndpointError: Error, Sendable, Equatable {
    case empty
    case unknownScheme(String)
    /// Neither an ASCII host name nor a numeric address. International names need their `xn--` form.
    case invalidHost(String)
    case hostTooLong(limit: Int)
    /// Not a number from 1 to 65535.
    case invalidPort(String)
    /// An IPv6 address needs brackets, `[::1]:7227`, which separate it from the port.
    case unbracketedIPv6
    case trailingText(String)
}

extension Endpoint: CustomStringConvertible {
    /// The canonical URL, which parses to an equal endpoint.
    public var description: String {
        "\(security.scheme)://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
    }
}

private func isHostNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        true
    default: false
    }
}
