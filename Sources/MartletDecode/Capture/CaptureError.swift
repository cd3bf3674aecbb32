/// The reason why a capture file cannot be read, or not to its end.
public enum CaptureError: Error, Equatable, Sendable {
    /// The file cannot be opened. The reason is the system's.
    case unreadable(reason: String)
    /// The input does not begin like a capture file that libpcap reads. The reason is libpcap's.
    case notACapture(reason: String)
    /// The file is malformed after the given number of packets. The reason is libpcap's.
    case malformed(packetCount: Int, reason: String)
    /// The file ends inside a packet, after the given number of complete ones.
    case truncated(packetCount: Int)
}

extension CaptureError: CustomStringConvertible {
    /// A description in English, in one line.
    public var description: String {
        switch self {
        case .unreadable(let reason): "cannot read the capture: \(reason)"
        case .notACapture(let reason): "not a capture: \(reason)"
        case .malformed(let packetCount, let reason): "malformed after packet \(packetCount): \(reason)"
        case .truncated(let packetCount): "the capture ends inside packet \(packetCount + 1)"
        }
    }
}
