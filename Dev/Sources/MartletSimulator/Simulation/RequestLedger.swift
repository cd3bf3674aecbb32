import Martlet
import MartletLink
import MartletWire

/// The record of every request. It checks that a request ends once, in time and with the answer to its content, and
/// that one application receives it once.
struct RequestLedger {
    /// The identity of a request. A crashed device continues with another start of its process.
    struct Key: Hashable {
        var device: UInt64
        var start: Int
        var number: UInt64
    }

    private struct Pending {
        var room: RoomName
        var text: String
        var deadline: Instant
        var isCancelled = false
    }

    /// The tolerance for an outcome after the deadline.
    private static let slack = Duration.milliseconds(1)

    private var pending: [Key: Pending] = [:]
    private var received: Set<String> = []
    private var sentCount = 0
    /// The number of requests answered by another member.
    private(set) var answeredCount = 0

    /// The open requests of one process of a device, oldest first.
    func openNumbers(of device: UInt64, start: Int) -> [UInt64] {
        pending.keys.filter { $0.device == device && $0.start == start }.map(\.number).sorted()
    }

    /// A unique text.
    mutating func makeText(byteCount: Int) -> String {
        sentCount += 1
        return "request \(sentCount)" + String(repeating: "?", count: byteCount)
    }

    mutating func sent(_ key: Key, in room: RoomName, text: String, deadline: Instant) {
        pending[key] = Pending(room: room, text: text, deadline: deadline)
    }

    mutating func cancelled(_ key: Key) {
        pending[key]?.isCancelled = true
    }

    /// Cancels a device's requests in a room that it leaves.
    mutating func closed(_ room: RoomName, by device: UInt64, start: Int) {
        for key in pending.keys where key.device == device && key.start == start && pending[key]?.room == room {
            pending[key]?.isCancelled = true
        }
    }

    /// Removes the requests of a crashed device.
    mutating func removeDevice(_ device: UInt64) {
        pending = pending.filter { $0.key.device != device }
    }

    /// Records the receipt of a request. Returns its fault, if any.
    mutating func received(_ text: String) -> String? {
        received.insert(text).inserted ? nil : "\(text.prefix(20)) was received twice"
    }

    /// Records an outcome. Returns its fault, if any.
    mutating func ended(_ key: Key, _ outcome: RequestOutcome, at now: Instant) -> String? {
        guard let request = pending.removeValue(forKey: key) else { return "\(key) has another outcome: \(outcome)" }
        switch outcome {
        case .answered(.none, _, let content, _):
            answeredCount += 1
            return content == Message.textContent(request.text) ? nil : "\(key) has the answer to another request"
        case .answered: return nil
        case .failed(.deadlineExceeded):
            return now >= request.deadline ? nil : "\(key) failed before its deadline"
        case .failed(.cancelled): return request.isCancelled ? nil : "\(key) was not cancelled"
        case .failed: return nil
        }
    }

    /// An open request whose deadline has passed.
    func overdue(now: Instant) -> Key? {
        pending.first { $0.value.deadline + RequestLedger.slack < now }?.key
    }

    /// The number of open requests.
    var openCount: Int { pending.count }
}
