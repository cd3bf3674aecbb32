import Martlet
import MartletLink
import MartletTestKit
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
        /// The call has not returned, or its process was killed at that time, or a restored file has lost the message.
        case mayBeStored
        /// The call has returned a handle: the log or the dead letters have the message.
        case isStored
        /// The call has thrown, or the message was discarded: nothing has it.
        case isNotStored
        /// The message was cancelled. An outbox that is killed can forget this before it was sent.
        case isCancelled
    }

    /// A message of the applications, by its text.
    struct Record {
        let device: Int
        let room: RoomName
        var state = Sent.mayBeStored
        var id: MessageID?
        /// Whether it has not the place of its first call.
        var isRetried = false
        /// Whether a restored outbox may publish it under a second ID.
        var mayRepeat = false
    }

    let world: TestWorld
    let log = LifeLog()
    let members: LifeMembers
    private(set) var trace: Trace
    private(set) var broken: [BrokenPromise] = []
    private var calls: [Int: Call] = [:]
    private var lastCall = 0
    /// The messages of `send`, and the replies that an acknowledgement has stored.
    private(set) var sent: [String: Record] = [:]
    /// The devices whose outboxes were restored, so that they acknowledge messages again.
    private(set) var restoredDevices: Set<Int> = []
    private(set) var messageCount = 0
    private(set) var shownCount = 0

    init(_ world: TestWorld, keepsTrace: Bool) {
        self.world = world
        members = LifeMembers(world)
        trace = Trace(keepsLines: keepsTrace)
    }

    var now: Instant { world.now }
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
        sent[text] = Record(device: device, room: room)
    }

    func note(_ text: String, _ state: Sent, as id: MessageID? = nil) {
        sent[text]?.state = state
        if let id { sent[text]?.id = id }
    }

    func retried(_ text: String) {
        sent[text]?.isRetried = true
        sent[text]?.state = .mayBeStored
    }

    func accepted(_ id: MessageID, at offset: UInt64, in room: RoomName) {
        guard offset > 0, !log.hasHad(id, at: offset, in: room) else { return }
        fail(.acceptedIsStored, "\(id) is accepted at \(offset) of \(room), which has \(log[room].count) messages")
    }

    func replied(_ text: String, of device: Int, in room: RoomName) {
        sent[text] = Record(device: device, room: room, state: .isStored)
    }

    func shown(_ message: RoomMessage, in room: RoomName) {
        shownCount += 1
        guard let entry = log.entry(at: message.offset, in: room, of: message.cursor.log), entry.id == message.id,
            message.content.isErased ? entry.erasedAt != nil : message.text == entry.body?.text
        else { return fail(.nothingIsSkipped, "\(message.id) at \(message.offset) of \(room) is not in the store") }
    }

    // MARK: - Files

    /// Reports that the outbox of a device was replaced by an earlier one, which has these messages without an outcome.
    func restored(_ device: Int, pending: [MessageContent]) {
        restoredDevices.insert(device)
        let pending = Set(pending.compactMap(LifeLog.text))
        for (text, record) in sent where record.device == device || pending.contains(text) {
            sent[text]?.state = .mayBeStored
            if pending.contains(text) { sent[text]?.mayRepeat = true }
        }
    }

    /// Reports that the store was replaced by an earlier one, which has lost messages.
    func restoredStore() {
        members.restored()
        for (text, record) in sent where record.state == .isStored { sent[text]?.state = .mayBeStored }
    }
}
