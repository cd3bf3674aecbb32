/// The address of a server as a URL: `martlets://chat.example.com:7227`, or `wss://chat.example.com` for a WebSocket
/// (C-58, C-124).
public struct Endpoint: Hashable, Sendable {
    /// The encryption of the connection, given by the URL scheme.
    public enum Security: Sendable {
        /// `martlet://` and `ws://`: TCP without encryption.
        case plain
        /// `martlets://` and `wss://`: TLS.
        case tls
    }

    /// The default port (W-1).
    public static let defaultPort: UInt16 = 7227
    /// The path of a WebSocket in an address without one (C-119).
    public static let defaultWebSocketPath = "/martlet"
    /// The maximum length of the path of a WebSocket in bytes.
    package static let maxPathByteCount = 1_024
    /// The maximum length of a host name in bytes (RFC 1035 §2.3.4, in textual form).
    package static let maxHostByteCount = 253

    /// The encryption of the connection.
    public let security: Security
    /// A lowercase host name, or a numeric address (IPv6 without brackets).
    public let host: String
    /// The port, from 1 to 65535.
    public let port: UInt16
    /// The target of the HTTP request for a WebSocket, such as `/martlet`; nil for a connection without HTTP.
    public let webSocketPath: String?

    /// Whether the host is this machine: `localhost` or a numeric loopback address.
    package var isLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

    /// Whether the host is this machine by one of the names and addresses that mean it (RFC 6761 §6.3). Not each of
    /// them is known to be reached without a network, as those of `isLoopback` are.
    package var isLocal: Bool {
        let name = host.withoutFinalDot
        if isLoopback || name == "localhost" || name.hasSuffix(".localhost") { return true }
        guard let address = IPAddress(host) else { return false }
        return address.isUnspecified || address.unmapped.isLoopback
    }

    /// The URL scheme.
    package var scheme: String {
        switch (security, webSocketPath) {
        case (.plain, nil): "martlet"
        case (.tls, nil): "martlets"
        case (.plain, _?): "ws"
        case (.tls, _?): "wss"
        }
    }

    /// The port of an address without one.
    private static func defaultPort(_ security: Security, isWebSocket: Bool) -> UInt16 {
        isWebSocket ? security == .tls ? 443 : 80 : defaultPort
    }

    /// Creates an endpoint. Throws when `host` is empty, too long, or neither an ASCII host name nor a numeric address,
    /// for a host that ends in a number without being an address (C-135), and for a path that no target of a request
    /// has.
    package init(
        host: String, port: UInt16 = defaultPort, security: Security = .tls, webSocketPath: String? = nil
    ) throws(EndpointError) {
        guard !host.isEmpty else { throw .empty }
        guard host.utf8.count <= Self.maxHostByteCount else { throw .hostTooLong(limit: Self.maxHostByteCount) }
        guard port != 0 else { throw .invalidPort("0") }
        if IPAddress(host) == nil {
            guard host.utf8.allSatisfy(isHostNameByte) else { throw .invalidHost(host) }
            guard !endsInNumber(host.utf8) else { throw .numericHost(host) }
        }
        if let webSocketPath {
            guard webSocketPath.utf8.count <= Self.maxPathByteCount, webSocketPath.hasPrefix("/"),
                webSocketPath.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
            else { throw .invalidPath(webSocketPath) }
        }
        self.webSocketPath = webSocketPath
        self.host = host.lowercased()
        self.port = port
        self.security = security
    }

    /// Parses `martlet://host:port`, `martlets://host`, `wss://host/path`, `host`, `host:port` or `[::1]:port`.
    /// `defaultSecurity` applies to texts without a scheme.
    package init(parsing text: String, defaultSecurity: Security = .tls) throws(EndpointError) {
        var rest = Substring(text)
        var security = defaultSecurity
        var path: String?
        if let parts = Self.parts(ofURL: text) {
            rest = parts.rest
            let scheme = parts.scheme.lowercased()
            switch scheme {
            case "martlet", "ws": security = .plain
            case "martlets", "wss": security = .tls
            default: throw .unknownScheme(String(parts.scheme))
            }
            if scheme == "ws" || scheme == "wss" {
                let slash = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
                path = rest[slash...].count > 1 ? String(rest[slash...]) : Self.defaultWebSocketPath
                rest = rest[..<slash]
            } else if rest.hasSuffix("/") {
                rest.removeLast()
            }
        }
        let (host, portText) = try Self.split(rest)
        var port = Self.defaultPort(security, isWebSocket: path != nil)
        if let portText {
            guard let number = decimalPort(portText), number != 0 else { throw .invalidPort(String(portText)) }
            port = number
        }
        try self.init(host: String(host), port: port, security: security, webSocketPath: path)
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
    /// Ends in a number without being four decimal numbers, as `127.1` and `0x7f000001`, which the system would read as
    /// 127.0.0.1.
    case numericHost(String)
    case hostTooLong(limit: Int)
    /// Not a number from 1 to 65535.
    case invalidPort(String)
    /// An IPv6 address needs brackets, `[::1]:7227`, which separate it from the port.
    case unbracketedIPv6
    case trailingText(String)
    /// Not the path and query of a URL in ASCII, or longer than `Endpoint.maxPathByteCount`.
    case invalidPath(String)
}

extension Endpoint: CustomStringConvertible {
    /// The canonical URL, which parses to an equal endpoint.
    public var description: String {
        "\(scheme)://\(bracketedHost):\(port)\(webSocketPath ?? "")"
    }

    /// The host and the port as a field of HTTP has them, without the default port of the scheme.
    package var authority: String {
        let isDefault = port == Self.defaultPort(security, isWebSocket: webSocketPath != nil)
        return isDefault ? bracketedHost : "\(bracketedHost):\(port)"
    }

    /// The host and the port, as in the target of CONNECT (RFC 9110 §9.3.6).
    package var hostAndPort: String { "\(bracketedHost):\(port)" }

    private var bracketedHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }
}

extension String {
    /// The text of a name without the dot that ends it in absolute form.
    package var withoutFinalDot: Substring { hasSuffix(".") ? dropLast() : self[...] }
}

private func isHostNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        true
    default: false
    }
}

/// Whether the last label of a host consists of decimal digits, or of 0x and hexadecimal ones. No name ends in one
/// (RFC 3696 §2), but the system reads such a host as an address.
private func endsInNumber(_ host: String.UTF8View) -> Bool {
    guard var label = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: true).last else {
        return false
    }
    let isHexadecimal = label.starts(with: "0x".utf8) || label.starts(with: "0X".utf8)
    if isHexadecimal { label = label.dropFirst(2) }
    return label.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): isHexadecimal
        default: false
        }
    }
}
