import CMartletSystem

/// Why the transport could not do what was asked.
public indirect enum TransportError: Error, Sendable, Equatable {
    /// The caller gave up.
    case cancelled
    /// A deadline passed, the caller's or TCP's own (`TCPOptions.userTimeout`).
    case timedOut
    /// Nobody listens there.
    case refused
    /// The peer reset the connection.
    case reset
    /// No route to the network or the host, or no address of that family here.
    case unreachable
    /// The name exists and has no address.
    case noAddresses
    case addressInUse
    case addressNotAvailable
    /// The system forbids it: a privileged port, a firewall.
    case permissionDenied
    /// The process or the system has no descriptor left (EMFILE, ENFILE).
    case tooManyDescriptors
    /// The resolver's queue is full.
    case resolverBusy
    /// The loop was shut down.
    case loopStopped
    /// getaddrinfo failed: its code and the system's text for it.
    case resolutionFailed(code: Int32, text: String)
    /// Every attempt of a race failed; in the order in which they did.
    case connectFailed([ConnectFailure])
    /// Any other error number, with the call that gave it.
    case system(errno: Int32, call: String)

    /// The error for a positive error number.
    init(errno number: Int32, call: StaticString) {
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

/// The error number says "not now": the poller will tell when.
func isWouldBlock(_ number: Int32) -> Bool {
    Int(martlet_classify_error(number)) == Int(martlet_error_would_block.rawValue)
}

/// One failed attempt of a race.
public struct ConnectFailure: Sendable, Equatable {
    /// The endpoint that was asked for.
    public var endpoint: Endpoint
    /// The address tried; nil when the endpoint's name could not be resolved.
    public var address: SocketAddress?
    /// What went wrong there.
    public var error: TransportError

    /// One attempt and its failure.
    public init(endpoint: Endpoint, address: SocketAddress?, error: TransportError) {
        self.endpoint = endpoint
        self.address = address
        self.error = error
    }
}

extension TransportError: CustomStringConvertible {
    /// A short text for people.
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
        case .connectFailed(let failures): failures.map(\.description).joined(separator: "; ")
        case .system(let number, let call):
            "\(call): \(unsafe systemText { unsafe martlet_error_text(number, $0, $1) })"
        }
    }
}

extension ConnectFailure: CustomStringConvertible {
    /// A short text for people.
    public var description: String {
        guard let address else { return "\(endpoint): \(error)" }
        return "\(endpoint) (\(address)): \(error)"
    }
}

/// A text that the system writes into a buffer, terminated.
func systemText(_ write: (UnsafeMutablePointer<CChar>, Int) -> Void) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress else { return "" }
        unsafe buffer.initialize(repeating: 0)
        unsafe write(start, buffer.count)
        return unsafe String(cString: start)
    }
}
