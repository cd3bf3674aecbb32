/// The address of a proxy: `http://user:password@host:port` for CONNECT of HTTP, `socks5://host:port` or
/// `socks5h://host:port` for SOCKS 5 (C-126). The proxy resolves the names of servers with each of them.
///
/// Without a scheme the proxy speaks HTTP, and without a port the port is 1080, as for curl. User name and password may
/// be percent-encoded.
public struct ProxyAddress: Hashable, Sendable {
    /// The protocol of the proxy.
    public enum Kind: Hashable, Sendable {
        /// CONNECT of HTTP/1.1 (RFC 9110 §9.3.6), with Basic or Digest.
        case http
        /// SOCKS 5 (RFC 1928), with a user name and a password (RFC 1929).
        case socks5
    }

    /// The port of an address without one.
    public static let defaultPort: UInt16 = 1080

    /// The protocol of the proxy.
    public let kind: Kind
    /// The user name and the password; nil without them.
    package let credentials: ProxyCredentials?
    /// The host and the port.
    package let endpoint: Endpoint

    /// A lowercase host name, or a numeric address (IPv6 without brackets).
    public var host: String { endpoint.host }
    /// The port, from 1 to 65535.
    public var port: UInt16 { endpoint.port }

    /// Parses the URL of a proxy.
    public init(_ text: String) throws(ProxyAddressError) {
        var rest = text[...]
        var kind = Kind.http
        if let parts = Endpoint.parts(ofURL: text) {
            switch parts.scheme.lowercased() {
            case "http": kind = .http
            case "socks5", "socks5h": kind = .socks5
            default: throw .unsupportedScheme
            }
            rest = parts.rest
        }
        // A password may contain an at sign that is not encoded, as for curl.
        var credentials: ProxyCredentials?
        if let at = rest.lastIndex(of: "@") {
            credentials = try ProxyCredentials(encoded: rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.isEmpty else { throw .empty }
        let hasPort = rest.hasPrefix("[") ? !rest.hasSuffix("]") : rest.contains(":")
        let complete = hasPort ? String(rest) : "\(rest):\(Self.defaultPort)"
        do throws(EndpointError) { endpoint = try Endpoint(parsing: complete, defaultSecurity: .plain) } catch {
            throw .invalidHost
        }
        (self.kind, self.credentials) = (kind, credentials)
    }
}

extension ProxyAddress: CustomStringConvertible {
    /// The URL without the user name and the password.
    public var description: String { "\(kind == .http ? "http" : "socks5h")://\(endpoint.hostAndPort)" }
}

/// The user name and the password for a proxy. Descriptions and dumps do not contain them.
package struct ProxyCredentials: Hashable, Sendable {
    /// The maximum number of bytes of each (RFC 1929 §2).
    package static let maxByteCount = 255

    package let user: [UInt8]
    package let password: [UInt8]

    /// Parses `user:password` with percent-encodings.
    fileprivate init(encoded text: Substring) throws(ProxyAddressError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = Self.decode(parts[0]), let password = Self.decode(parts.count > 1 ? parts[1] : ""),
            // Basic separates both by a colon (RFC 7617 §2).
            !user.isEmpty, !user.contains(UInt8(ascii: ":")), max(user.count, password.count) <= Self.maxByteCount
        else { throw .invalidCredentials }
        (self.user, self.password) = (user, password)
    }

    /// Returns the bytes of a percent-encoded text; nil for an invalid encoding or a control character.
    private static func decode(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            var decoded = byte
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst(), let low = rest.popFirst(),
                    let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16),
                    high != UInt8(ascii: "+")
                else { return nil }
                decoded = value
            }
            guard decoded >= 0x20, decoded != 0x7F else { return nil }
            bytes.append(decoded)
        }
        return bytes
    }
}

extension ProxyCredentials: CustomStringConvertible, CustomReflectable {
    package var description: String { "(hidden)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// An error in the address of a proxy. It contains no part of the address, which may have a password.
public enum ProxyAddressError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no host.
    case empty
    /// The scheme is none of `http`, `socks5` and `socks5h`.
    case unsupportedScheme
    /// The host or the port is invalid.
    case invalidHost
    /// The user name or the password is longer than 255 bytes or invalid.
    case invalidCredentials

    /// A description for people.
    public var description: String {
        switch self {
        case .empty: "the address of the proxy has no host"
        case .unsupportedScheme: "the scheme of the proxy is none of http, socks5 and socks5h"
        case .invalidHost: "the host or the port of the proxy is invalid"
        case .invalidCredentials: "the user name or the password of the proxy is invalid"
        }
    }
}
