import MartletToolSupport

/// The delivery state of a message of this account.
enum DeliveryMark: Equatable, Sendable {
    case queued, sent, accepted, delivered, read
    case failed(String)

    /// The text after the message.
    var text: String {
        switch self {
        case .queued: "\u{2026}"
        case .sent: "\u{2191}"
        case .accepted: "\u{2713}"
        case .delivered: "\u{2713}\u{2713}"
        case .read: "\u{2713}\u{2713} read"
        case .failed(let reason): "\u{2717} \(reason)"
        }
    }

    /// The color of the text.
    var style: Style {
        switch self {
        case .queued, .sent: .dim
        case .accepted: .plain
        case .delivered: .green
        case .read: .cyan
        case .failed: .red
        }
    }

    private var rank: Int {
        switch self {
        case .queued: 0
        case .sent: 1
        case .accepted: 2
        case .delivered: 3
        case .read: 4
        case .failed: 5
        }
    }

    /// Returns whether this state follows `other`. Reports may arrive out of order.
    func isFurther(than other: DeliveryMark) -> Bool { rank > other.rank }
}
