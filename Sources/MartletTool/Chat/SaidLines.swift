import Martlet
import MartletToolSupport
import MartletTransport

/// The lines that were said in a chat and that the relay may not have accepted yet.
final class SaidLines: Sendable {
    /// One line, and its message once there is one.
    private struct Line: Sendable {
        var number: Int
        var text: String
        var sending: MessageHandle?

        var isAccepted: Bool {
            guard let sending else { return false }
            return switch sending.state {
            case .queued, .sent, .failed: false
            // One that is forgotten was accepted long ago.
            case .accepted, .delivered, .read, nil: true
            }
        }
    }

    private let state = Guarded<(lines: [Line], last: Int)>(([], 0))

    /// A line is about to be sent; the number stands for it.
    func begin(_ text: String) -> Int {
        state.withLock { state in
            // They are accepted in their order: what is kept is bounded by what the client lets wait.
            while let first = state.lines.first, first.isAccepted { state.lines.removeFirst() }
            state.last += 1
            state.lines.append(Line(number: state.last, text: text))
            return state.last
        }
    }

    /// The line has become a message.
    func sent(_ number: Int, as sending: MessageHandle) {
        state.withLock { state in
            guard let index = state.lines.lastIndex(where: { $0.number == number }) else { return }
            state.lines[index].sending = sending
        }
    }

    /// The lines that are not accepted.
    var unsent: [String] { state.withLock { $0.lines.filter { !$0.isAccepted }.map(\.text) } }

    /// Lines of a report that are shown at the most.
    static let maxReportedCount = 10

    /// What a chat says at its end of lines that were not accepted; nothing when there are none.
    static func report(_ unsent: [String]) -> [String] {
        if unsent.isEmpty { return [] }
        let count = unsent.count == 1 ? "1 line was" : "\(unsent.count) lines were"
        let shown = unsent.suffix(maxReportedCount)
        let hidden = unsent.count - shown.count
        return ["martlet: \(count) not accepted by the relay" + (hidden > 0 ? ", the last of them:" : ":")]
            + shown.map { "  \(SafeText.line($0))" }
    }
}
