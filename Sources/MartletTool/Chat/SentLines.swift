import Martlet
import MartletToolSupport
import MartletTransport

/// The sent lines of a chat that the relay may not have accepted yet.
final class SentLines: Sendable {
    /// A line, and its message once it is queued.
    private struct Line: Sendable {
        var number: Int
        var text: String
        var sending: MessageHandle?

        var isAccepted: Bool {
            guard let sending else { return false }
            return switch sending.state {
            case .queued, .sent, .failed: false
            // A message that the client has removed was accepted before.
            case .accepted, .delivered, .read, nil: true
            }
        }
    }

    private let state = Guarded<(lines: [Line], last: Int)>(([], 0))

    /// Records a line before it is queued, and returns its number.
    func begin(_ text: String) -> Int {
        state.withLock { state in
            // Messages are accepted in order, so the bound of the client's queue also bounds the recorded lines.
            while let first = state.lines.first, first.isAccepted { state.lines.removeFirst() }
            state.last += 1
            state.lines.append(Line(number: state.last, text: text))
            return state.last
        }
    }

    /// Records the message of a line.
    func setMessage(_ number: Int, as sending: MessageHandle) {
        state.withLock { state in
            guard let index = state.lines.lastIndex(where: { $0.number == number }) else { return }
            state.lines[index].sending = sending
        }
    }

    /// The lines that are not accepted.
    var unsent: [String] { state.withLock { $0.lines.filter { !$0.isAccepted }.map(\.text) } }

    /// The maximum number of lines in a report.
    static let maxReportedCount = 10

    /// Returns the report about unaccepted lines at the end of a chat; empty if there are none.
    static func report(_ unsent: [String]) -> [String] {
        if unsent.isEmpty { return [] }
        let count = unsent.count == 1 ? "1 line was" : "\(unsent.count) lines were"
        let shown = unsent.suffix(maxReportedCount)
        let hidden = unsent.count - shown.count
        return ["martlet: \(count) not accepted by the relay" + (hidden > 0 ? ", the last of them:" : ":")]
            + shown.map { "  \(SafeText.line($0))" }
    }
}

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
