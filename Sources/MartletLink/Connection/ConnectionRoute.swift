/// The way of a client's connection through the network: direct, through a proxy, or by a WebSocket on port 443
/// (C-127).
public struct ConnectionRoute: Hashable, Sendable {
    /// Why a route carries the connection.
    public enum Reason: Hashable, Sendable {
        /// There is no other one.
        case only
        /// Its handshake was complete before those of the other routes.
        case firstToAnswer
        /// It has worked on this network before.
        case remembered
        /// The configuration of the client names the proxy.
        case configured
        /// A variable of the environment names the proxy.
        case environment(variable: String)
    }

    /// The host and the port of the proxy; nil without one.
    public let proxy: String?
    /// Whether the connection is a WebSocket on port 443, in place of one to the port of the server's address.
    public let isWebSocket: Bool
    /// Why the route carries the connection.
    public let reason: Reason

    /// Whether the connection leads to the port of the server's address, without a proxy.
    public var isDirect: Bool { proxy == nil && !isWebSocket }

    package init(proxy: String?, isWebSocket: Bool, reason: Reason) {
        (self.proxy, self.isWebSocket, self.reason) = (proxy, isWebSocket, reason)
    }

    /// A stable key for logs: `direct`, `proxy`, `webSocket` or `webSocketThroughProxy`.
    public var key: String {
        switch (proxy, isWebSocket) {
        case (nil, false): "direct"
        case (_?, false): "proxy"
        case (nil, true): "webSocket"
        case (_?, true): "webSocketThroughProxy"
        }
    }
}

extension ConnectionRoute: CustomStringConvertible {
    /// The route and the reason, without a user name and a password.
    public var description: String { "\(name) (\(reason))" }

    /// The route without the reason.
    package var name: String {
        let carrier = isWebSocket ? "WebSocket on port 443" : proxy == nil ? "direct" : ""
        let through = proxy.map { "\(isWebSocket ? " through " : "")proxy \($0)" } ?? ""
        return carrier + through
    }
}

extension ConnectionRoute.Reason: CustomStringConvertible {
    /// A clause for people.
    public var description: String {
        switch self {
        case .only: "the only route"
        case .firstToAnswer: "first to answer"
        case .remembered: "remembered on this network"
        case .configured: "the configuration names the proxy"
        case .environment(let variable): "\(variable) names the proxy"
        }
    }
}
