import MartletHTTP
public import MartletTransport

/// The WebSockets that a server accepts beside connections without HTTP, on the same addresses (C-117).
public struct WebSocketOptions: Sendable, Hashable {
    /// The path of the requests, without a query. Others are answered with a file, or with 404.
    public var path = Endpoint.defaultWebSocketPath
    /// The origins of pages that may connect, such as `https://chat.example.com`, beside those of the host of the
    /// request; `*` stands for all. Clients that are no browsers state no origin (C-121).
    public var origins: [String] = []
    /// The proxies that state the address of their client in the field `X-Forwarded-For`. The address is the peer's for
    /// limits and events (C-122).
    public var forwarders: [IPNetwork] = []
    /// The files with which requests at other paths are answered; nil for none (C-131).
    public var files: WebFolder?

    /// Creates options.
    public init() {}

    /// The reason why the options are not valid; nil if they are.
    package var fault: String? {
        if !Self.isPath(path) { return "the path of WebSockets is \(path), not that of a URL" }
        let wrong = origins.first { !Self.isOrigin($0) }
        return wrong.map { "the origin of WebSockets is \($0), not * or a scheme and a host in ASCII" }
    }

    /// Whether a text is the path of a URL, without a query.
    package static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && text.utf8.count <= Endpoint.maxPathByteCount
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    }

    /// Whether a text is an origin that a browser can state, or `*`.
    package static func isOrigin(_ text: String) -> Bool {
        text == "*" || WebOrigin(text) != nil && !text.contains { "*%".contains($0) }
    }

    /// Whether a peer is one of the proxies that state the address of their client.
    package func isForwarder(_ peer: SocketAddress?) -> Bool {
        peer.map { peer in forwarders.contains { $0.contains(peer.ip) } } ?? false
    }

    /// Whether a page may connect (C-121).
    ///
    /// - Parameters:
    ///   - origin: The field Origin.
    ///   - request: The request, whose host is that of the page.
    ///   - peer: The address from which the request comes. One of this machine may be that of a browser, for which any
    ///     name can lead to this machine unless a certificate is verified.
    ///   - isSecure: Whether the connection has TLS, so that a host without a port has 443. Behind a proxy that ends
    ///     TLS, the scheme of the origin decides.
    func permits(origin: String, of request: HTTPRequest, from peer: SocketAddress?, isSecure: Bool) -> Bool {
        if origins.contains("*") { return true }
        guard let origin = WebOrigin(origin) else { return false }
        if origins.contains(where: { WebOrigin($0) == origin }) { return true }
        let isBrowserHere = !isSecure && peer?.ip.isLoopback == true && !isForwarder(peer)
        return origin.authority == WebOrigin("\(isSecure ? "https" : origin.scheme)://\(request.host)")?.authority
            && (!isBrowserHere || request.namesLoopback)
    }
}

/// The origin of a page: scheme, host and port (RFC 6454), in lowercase.
struct WebOrigin: Equatable {
    let scheme: String
    /// The host and the port.
    let authority: String

    /// Parses `https://host` or `https://host:port`.
    init?(_ text: String) {
        guard let parts = Endpoint.parts(ofURL: text.lowercased()), !parts.scheme.isEmpty,
            !parts.rest.isEmpty, HTTPRequest.isAuthority(parts.rest)
        else { return nil }
        scheme = String(parts.scheme)
        let colon = parts.rest.lastIndex(of: ":")
        let hasPort = colon.map { parts.rest[$0...].dropFirst().allSatisfy(\.isNumber) } ?? false
        let port = scheme == "https" || scheme == "wss" ? "443" : "80"
        authority = hasPort ? String(parts.rest) : "\(parts.rest):\(port)"
    }
}
