/// An error of a bus over NATS.
public enum NATSError: Error, Equatable, Sendable {
    /// The text is not a list of URLs nats://HOST:PORT or tls://HOST:PORT, separated by commas.
    case invalidURL
    /// The subject is not one of letters, digits, `-` and `_` in parts between dots.
    case invalidSubject
    /// A file of credentials or certificates cannot be used. The text is that of libnats.
    case invalidFile(path: String, String)
    /// The server cannot be reached, or refuses the connection. The text is that of libnats.
    case unavailable(String)
    /// The server refuses to publish to the subject, or to subscribe to it. The text is that of libnats.
    case notPermitted(String)
    /// The server's `max_payload` is shorter than the datagrams of the bus.
    case payloadTooSmall(byteCount: Int, needed: Int)
    /// The bus was stopped.
    case stopped
}

extension NATSError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .invalidURL: "not a URL of NATS: nats://HOST:4222 or tls://HOST:4222, and several with commas"
        case .invalidSubject: "not a subject: letters, digits, '-' and '_', in parts between dots"
        case .invalidFile(let path, let text): "\(path): \(text)"
        case .unavailable(let text): "NATS does not answer: \(text)"
        case .notPermitted(let text): "NATS does not permit the subject: \(text)"
        case .payloadTooSmall(let byteCount, let needed):
            "max_payload of NATS is \(byteCount); set it to \(needed) bytes or more"
        case .stopped: "the bus was stopped"
        }
    }
}

/// An event of a bus over NATS.
public enum NATSEvent: Equatable, Sendable {
    /// The connection has ended, or could not be made at the start, for this reason of libnats. Datagrams are lost
    /// until `recovered`.
    case lost(String)
    /// The server is connected again.
    case recovered
    /// The server that is connected now does not carry the datagrams of the bus.
    case payloadTooSmall(NATSError)
}
