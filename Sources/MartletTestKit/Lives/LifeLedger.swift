import Martlet
import MartletProtocol
import MartletWire

/// The calls and observations of the applications of a run, and the promises that they show to be broken.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class LifeLedger: @unchecked Sendable {
    static let maxBrokenPromises = 10

    /// A call of the public API in progress.
    struct Call {
        let name: StaticString
        let device: Int
        let begun: Instant
        /// The maximum duration; nil if the call may wait for the relay.
        let limit: Duration?
        var isReported = false
    }

    /// The outcome of a call of `send`, as far as the application knows it.
    enum Sent {
        /// The call has not returned, or its process was killed at that time.
        case mayBeStored
        /// The call has returned a handle.
        case isStored
        /// The call has thrown, or the message has failed before it was written to a connection.
        case isNotStored
    }

    let world: TestWorld
    let log = LifeLog()
    let members: LifeMembers
    private(set) var trace: Trace
    private(set) var broken: [BrokenPromise] = []
    private var calls: [Int: Call] = [:]
    private var lastCall = 0
    private var sent: [String: (device: Int, room: RoomName, state: Sent)] = [:]
    /// Replies that an acknowledgement has stored.
    private var replies: Set<String> = []
    private(set) var messageCount = 0
    private(set) var shownCount = 0

    init(_ world: TestWorld, keepsTrace: Bool) {
        self.world = world
        members = LifeMembers(world)
        trace = Trace(keepsLines: keepsTrace)
    }

    var now: Instant { world.scheduler.now }
    var callCount: Int { lastCall }

    func note(_ device: Int, _ what: StaticString, _ number: UInt64 = 0) {
        trace.note(now, device: device, what, number)
    }

    func fail(_ promise: BrokenPromise.Promise, _ detail: String) {
        guard broken.count < Self.maxBrokenPromises else { return }
        broken.append(BrokenPromise(promise: promise, at: world.time.milliseconds, detail: detail))
    }

    // MARK: - Calls

    func begin(_ name: StaticString, of device: Int, within limit: Duration?) -> Int {
        lastCall += 1
        calls[lastCall] = Call(name: name, device: device, begun: now, limit: limit)
        note(device, name)
        return lastCall
    }

    func end(_ number: Int) {
        guard let call = calls.removeValue(forKey: number) else { return }
        note(call.device, "the call ends")
        checkLimit(of: call)
    }

    /// Reports the calls in progress that exceed their limits.
    func checkCalls() {
        for number in calls.keys.sorted() {
            guard let call = calls[number], !call.isReported else { continue }
            calls[number]!.isReported = checkLimit(of: call)
        }
    }

    /// Reports the calls that are in progress although all clients have ended.
    func checkThatCallsEnded() {
        for number in calls.keys.sorted() {
            guard let call = calls[number] else { continue }
            fail(.everyCallEnds, "device \(call.device): \(call.name), begun \(now - call.begun) before")
        }
    }

    @discardableResult
    private func checkLimit(of call: Call) -> Bool {
        guard !call.isReported, let limit = call.limit, now - call.begun > limit else { return false }
        fail(.everyCallEnds, "device \(call.device): \(call.name) takes \(now - call.begun), more than \(limit)")
        return true
    }

    // MARK: - Messages

    func sending(_ text: String, from device: Int, in room: RoomName) {
        messageCount += 1
        sent[text] = (device, room, .mayBeStored)
    }

    func note(_ text: String, _ state: Sent) {
        sent[text]?.state = state
    }

    func accepted(_ id: MessageID, at offset: UInt64, in room: RoomName) {
        guard offset > 0, log.entry(at: offset, in: room)?.id != id else { return }
        fail(.acceptedIsStored, "\(id) is accepted at \(offset) of \(room), which has \(log[room].count) messages")
    }

    func replied(_ text: String) {
        replies.insert(text)
    }

    func shown(_ message: RoomMessage, in room: RoomName) {
        shownCount += 1
        guard let entry = log.entry(at: message.offset, in: room), entry.id == message.id, entry.text == message.text
        else { return fail(.nothingIsSkipped, "\(message.id) at \(message.offset) of \(room) is not in the store") }
    }

    // MARK: - End

    /// Checks the log after all messages have settled.
    func checkLog() {
        for room in log.entries.keys.sorted() {
            var counts: [String: Int] = [:]
            var last: [String: Int] = [:]
            for entry in log[room] {
                counts[entry.text, default: 0] += 1
                checkOrder(of: entry, in: room, &last)
            }
            for (text, count) in counts.sorted(by: { $0.key < $1.key }) where count > 1 {
                let promise: BrokenPromise.Promise = text.hasPrefix("re") ? .repliesAreStoredOnce : .queuedIsStoredOnce
                fail(promise, "\"\(text)\" is stored \(count) times in \(room)")
            }
            for text in replies.sorted() where text.hasSuffix(room.text) && counts[text] == nil {
                fail(.repliesAreStoredOnce, "\"\(text)\" is not stored")
            }
            for (text, record) in sent.sorted(by: { $0.key < $1.key }) where record.room == room {
                switch record.state {
                case .mayBeStored: break
                case .isStored where counts[text] == nil:
                    fail(.queuedIsStoredOnce, "\"\(text)\" of device \(record.device) is not stored")
                case .isNotStored where counts[text] != nil:
                    fail(.queuedIsStoredOnce, "\"\(text)\" of device \(record.device) is stored although it has failed")
                case .isStored, .isNotStored: break
                }
            }
        }
    }

    /// The texts of a device contain rising numbers.
    private func checkOrder(of entry: LifeLog.Entry, in room: RoomName, _ last: inout [String: Int]) {
        let words = entry.text.split(separator: " ")
        guard words.count == 3, words[0] == "message", let number = Int(words[2]) else { return }
        let device = String(words[1])
        if let before = last[device], before > number {
            fail(.sentInOrder, "\"\(entry.text)\" is stored after number \(before) in \(room)")
        }
        last[device] = number
    }
}
