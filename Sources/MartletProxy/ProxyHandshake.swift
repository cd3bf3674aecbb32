package import MartletTransport

/// The exchange with a proxy before the stream to a server, by either protocol (C-128, C-129).
package struct ProxyHandshake: Sendable {
    /// The result of an event.
    package enum Step: Equatable, Sendable {
        /// The answer is not complete.
        case incomplete
        /// Send these bytes.
        case send([UInt8])
        /// Continue on a further connection to the proxy, which ends this one.
        case reconnect
        /// The stream to the server begins behind this number of the received bytes.
        case connected(byteCount: Int)
        case failed(ProxyError)
    }

    private enum Machine: Sendable {
        case http(HTTPConnectHandshake)
        case socks(SOCKS5Handshake)
    }

    private var machine: Machine

    /// - Parameter nonce: Sixteen random bytes.
    package init(through proxy: ProxyAddress, to endpoint: Endpoint, nonce: [UInt8]) {
        machine =
            switch proxy.kind {
            case .http: .http(HTTPConnectHandshake(to: endpoint, credentials: proxy.credentials, nonce: nonce))
            case .socks5: .socks(SOCKS5Handshake(to: endpoint, credentials: proxy.credentials))
            }
    }

    /// Begins on a connection, the first or a further one. Returns the bytes to send.
    package mutating func start() -> [UInt8] {
        switch machine {
        case .http(var handshake):
            defer { machine = .http(handshake) }
            return handshake.start()
        case .socks(let handshake): return handshake.greeting
        }
    }

    /// Takes received bytes.
    package mutating func receive(_ bytes: RawSpan) -> Step {
        switch machine {
        case .http(var handshake):
            defer { machine = .http(handshake) }
            return handshake.receive(bytes)
        case .socks(var handshake):
            defer { machine = .socks(handshake) }
            return handshake.receive(bytes)
        }
    }

    /// The proxy has ended the connection.
    package func ended() -> Step {
        switch machine {
        case .http(let handshake): handshake.ended()
        case .socks: .failed(.closed)
        }
    }
}
