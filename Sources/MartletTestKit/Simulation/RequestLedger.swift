import MartletProtocol
import MartletWire

/// Every request from question to outcome: each ends once, in time, with an answer to what was asked, and is shown to
/// one application once.
struct RequestLedger {
    /// A request as its client names it; a device that crashed begins another life.
    struct Key: Hashable {
        var device: UInt64
        var life: Int
        var number: UInt64
    }

    private struct Question {
        var room: RoomName
        var text: String
        var expires: Instant
        var isCancelled = false
    }

    /// How long after its deadline a request may still be without an outcome.
    private static let slack = Duration.milliseconds(1)

    private var open: [Key: Question] = [:]
    private var shown: Set<String> = []
    private var askedCount = 0
    /// Requests that ended with an answer by another member.
    private(set) var answeredCount = 0

    /// The requests of one life of a device that have no outcome, oldest first.
    func openNumbers(of device: UInt64, life: Int) -> [UInt64] {
        open.keys.filter { $0.device == device && $0.life == life }.map(\.number).sorted()
    }

    /// A text that no other request has.
    mutating func makeText(byteCount: Int) -> String {
        askedCount += 1
        return "question \(askedCount)" + String(repeating: "?", count: byteCount)
    }

    mutating func asked(_ key: Key, in room: RoomName, text: String, expires: Instant) {
        open[key] = Question(room: room, text: text, expires: expires)
    }

    mutating func cancelled(_ key: Key) {
        open[key]?.isCancelled = true
    }

    /// A device leaves a room, and gives up what it asked there.
    mutating func closed(_ room: RoomName, by device: UInt64, life: Int) {
        for key in open.keys where key.device == device && key.life == life && open[key]?.room == room {
            open[key]?.isCancelled = true
        }
    }

    /// A device's process died, and nobody waits for its answers.
    mutating func forget(_ device: UInt64) {
        open = open.filter { $0.key.device != device }
    }

    /// An application is asked; what is wrong with that, if anything.
    mutating func shown(_ text: String) -> String? {
        shown.insert(text).inserted ? nil : "\(text.prefix(20)) is asked twice"
    }

    /// A request has its outcome; what is wrong with that, if anything.
    mutating func ended(_ key: Key, _ outcome: RequestOutcome, at now: Instant) -> String? {
        guard let question = open.removeValue(forKey: key) else { return "\(key) has another outcome: \(outcome)" }
        switch outcome {
        case .answered(.none, _, let content):
            answeredCount += 1
            return content == Message.textContent(question.text) ? nil : "\(key) has the answer to another"
        case .answered: return nil
        case .failed(.deadlineExceeded):
            return now >= question.expires ? nil : "\(key) is given up before its deadline"
        case .failed(.cancelled): return question.isCancelled ? nil : "\(key) was not cancelled"
        case .failed: return nil
        }
    }

    /// A request that should have an outcome by now.
    func overdue(now: Instant) -> Key? {
        open.first { $0.value.expires + RequestLedger.slack < now }?.key
    }

    /// Requests without an outcome.
    var openCount: Int { open.count }
}
