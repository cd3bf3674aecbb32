/// Why a capture file cannot be read, or not further.
public enum CaptureError: Error, Equatable, Sendable {
    /// The file cannot be opened; with the system's reason.
    case unreadable(reason: String)
    /// The bytes are not the beginning of a capture file that libpcap reads; with its reason.
    case notACapture(reason: String)
    /// The file is malformed behind so many packets; with libpcap's reason.
    case malformed(packetCount: Int, reason: String)
    /// The file ends inside the packet behind so many whole ones.
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
