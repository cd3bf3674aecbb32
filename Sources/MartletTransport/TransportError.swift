import CMartletSystem

/// An error of the transport.
public indirect enum TransportError: Error, Sendable, Equatable {
    /// The caller cancelled the operation.
    case cancelled
    /// A timeout expired: the caller's or TCP's (`TCPOptions.userTimeout`).
    case timedOut
    /// The peer refused the connection.
    case refused
    /// The peer reset the connection.
    case reset
    /// There is no route to the network or host, or no local address of that family.
    case unreachable
    /// The name exists and has no address.
    case noAddresses
    case addressInUse
    case addressNotAvailable
    /// The system denies the operation, for example for a privileged port or by a firewall.
    case permissionDenied
    /// The process or the system has no descriptor left (EMFILE, ENFILE).
    case tooManyDescriptors
    /// The resolver's queue is full.
    case resolverBusy
    /// The loop was shut down.
    case loopStopped
    /// getaddrinfo failed with this code and the system's text for it.
    case resolutionFailed(code: Int32, text: String)
    /// TLS failed, usually because the peer's certificate was not accepted.
    case tls(TLSError)
    /// The WebSocket failed: the server refused it, or the peer violated its protocol.
    case webSocket(WebSocketError)
    /// The proxy refused the connection, or violated its protocol.
    case proxy(ProxyError)
    /// All connection attempts failed, in order of failure.
    case connectFailed([ConnectFailure])
    /// Any other error number, with the failed call.
    case system(errno: Int32, call: String)

    /// Creates the error for a positive error number.
    package init(errno number: Int32, call: StaticString) {
        switch Int(martlet_classify_error(number)) {
        case Int(martlet_error_refused.rawValue): self = .refused
        case Int(martlet_error_reset.rawValue): self = .reset
        case Int(martlet_error_timed_out.rawValue): self = .timedOut
        case Int(martlet_error_unreachable.rawValue): self = .unreachable
        case Int(martlet_error_descriptors.rawValue): self = .tooManyDescriptors
        case Int(martlet_error_address_in_use.rawValue): self = .addressInUse
        case Int(martlet_error_address_not_available.rawValue): self = .addressNotAvailable
        case Int(martlet_error_permission.rawValue): self = .permissionDenied
        default: self = .system(errno: number, call: "\(call)")
        }
    }
}

/// Whether the error number means that the operation would block (EAGAIN).
func isWouldBlock(_ number: Int32) -> Bool {
    Int(martlet_classify_error(number)) == Int(martlet_error_would_block.rawValue)
}

/// A failed connection attempt.
public struct ConnectFailure: Sendable, Equatable {
    /// The requested endpoint.
    public var endpoint: Endpoint
    /// The address of the attempt; nil when name resolution failed.
    public var address: SocketAddress?
    /// The error of the attempt.
    public var error: TransportError

    /// Creates a failure.
    package init(endpoint: Endpoint, address: SocketAddress?, error: TransportError) {
        self.endpoint = endpoint
        self.address = address
        self.error = error
    }
}

extension TransportError: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .cancelled: "cancelled"
        case .timedOut: "timed out"
        case .refused: "connection refused"
        case .reset: "connection reset by peer"
        case .unreachable: "unreachable"
        case .noAddresses: "no addresses"
        case .addressInUse: "address in use"
        case .addressNotAvailable: "address not available"
        case .permissionDenied: "permission denied"
        case .tooManyDescriptors: "out of file descriptors"
        case .resolverBusy: "resolver busy"
        case .loopStopped: "event loop stopped"
        case .resolutionFailed(_, let text): "name resolution failed: \(text)"
        case .tls(let error): "\(error)"
        case .webSocket(let error): "\(error)"
        case .proxy(let error): "\(error)"
        case .connectFailed(let failures): failures.map(\.description).joined(separator: "; ")
        case .system(let number, let call):
            "\(call): \(systemText { unsafe martlet_error_text(number, &$0, $1) })"
        }
    }
}

extension ConnectFailure: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        guard let address else { return "\(endpoint): \(error)" }
        return "\(endpoint) (\(address)): \(error)"
    }
}

/// Returns the terminated text that `write` stores in a buffer of 256 bytes.
func systemText(_ write: (inout [CChar], Int) -> Void) -> String {
    var text = [CChar](repeating: 0, count: 256)
    write(&text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
