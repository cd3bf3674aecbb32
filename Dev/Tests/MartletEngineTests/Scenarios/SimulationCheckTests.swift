import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Tests of the simulator's checks beside messages.
@Suite struct SimulationCheckTests {
    private let lobby = RoomName("lobby")
    private let ada = AccountName("ada")

    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    // MARK: - Progress

    @Test func `busy device without progress fails after the limit`() {
        var watch = ProgressMonitor()
        let answers = [5, 125, 126, 130].map { watch.observe(.busy, count: 1, now: at($0)) }
        #expect(answers == [true, true, false, true])
    }

    @Test func `progress and hindrance restart the limit`() {
        var watch = ProgressMonitor()
        let observations: [(Int64, ProgressMonitor.Condition, Int)] = [
            (100, .disconnected, 0), (200, .disconnected, 1), (300, .busy, 1), (310, .exempt, 1), (430, .busy, 1),
            (431, .busy, 1),
        ]
        let answers = observations.map { watch.observe($0.1, count: $0.2, now: at($0.0)) }
        #expect(answers == [true, true, true, true, true, false])
    }

    // MARK: - Requests

    private let key = RequestLedger.Key(device: 1, start: 1, number: 1)
    private let ownAnswer = RequestOutcome.answered(
        status: .none, reason: nil, content: Message.textContent("request 1"))

    /// Whether each outcome of a request with a deadline of 10 s is a fault.
    private func faults(_ outcomes: [RequestOutcome], at seconds: Int64, isClosed: Bool = false) -> [Bool] {
        var ledger = RequestLedger()
        let text = ledger.makeText(byteCount: 0)
        ledger.sent(key, in: lobby, text: text, deadline: at(10))
        if isClosed { ledger.closed(lobby, by: 1, start: 1) }
        return outcomes.map { ledger.ended(key, $0, at: at(seconds)) != nil }
    }

    @Test func `request with its answer passes, with a second outcome fails`() {
        #expect(faults([ownAnswer, ownAnswer], at: 1) == [false, true])
    }

    @Test func `answer to another request and early outcome fail`() {
        let other = RequestOutcome.answered(status: .none, reason: nil, content: Message.textContent("else"))
        #expect(faults([other], at: 9) == [true])
        #expect(faults([.failed(.deadlineExceeded)], at: 9) == [true])
        #expect(faults([.failed(.deadlineExceeded)], at: 10) == [false])
        #expect(faults([.failed(.cancelled)], at: 1) == [true])
        #expect(faults([.failed(.cancelled)], at: 1, isClosed: true) == [false])
    }

    // MARK: - History

    /// Whether the answer to a request for messages before offset 5 of a log of 9 messages is a fault.
    private func isFault(
        _ offsets: [UInt64], first: UInt64 = 1, log: LogID = LogID(rawValue: 1), change: Bool = false,
        head: UInt64 = 9, isShared: Bool = false
    ) -> Bool {
        let entries = (1...9 as ClosedRange<UInt64>).map { offset in
            let stamp = RelayStamp(offset: offset, acceptedAt: offset, sender: ada, device: DeviceID(rawValue: 1))
            let body = Message(counter: offset, content: MessageContent(text: "\(offset)"), relay: stamp).encode()
            return LogEntry(
                offset: offset, sender: ada, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: offset,
                body: EncodedBody(body))
        }
        var bodies = offsets.map { entries[Int($0) - 1].body.bytes }
        if change { bodies[0][bodies[0].count - 1] ^= 1 }
        let content = HistoryPage.content(of: Opened(head: head, first: first, log: log), messages: bodies)
        var ledger = HistoryLedger(isShared: isShared)
        ledger.sent(key, HistoryQuery(.before(5), limit: 3), in: lobby, LogID(rawValue: 1), count: 9)
        let outcome = RequestOutcome.answered(status: .none, reason: nil, content: content)
        let logs = RoomLogs()
        logs.begin(lobby, as: LogID(rawValue: 1))
        for entry in entries { logs.append(entry, to: lobby) }
        logs.replace(lobby, by: LogID(rawValue: 2), upTo: 9)
        return ledger.ended(key, outcome, logs).fault != nil
    }

    @Test func `a page with the messages before the offset passes; with others, changed ones or none it fails`() {
        #expect(!isFault([2, 3, 4]) && !isFault([4]) && !isFault([], first: 5))
        #expect(!isFault([], log: LogID(rawValue: 2)))
        #expect(isFault([1, 2, 3]) && isFault([2, 4]) && isFault([3, 4, 5]) && isFault([], first: 4))
        #expect(isFault([2, 3, 4], change: true) && isFault([1, 2, 3, 4]))
    }

    @Test func `a page of a copy that ends before the log passes if relays share the store, and otherwise fails`() {
        #expect(!isFault([1, 2], head: 2, isShared: true) && !isFault([], head: 0, isShared: true))
        #expect(isFault([1, 2], head: 2) && isFault([1], head: 2, isShared: true))
    }

    @Test func `request without an outcome is overdue after its deadline`() {
        var ledger = RequestLedger()
        ledger.sent(key, in: lobby, text: "it", deadline: at(10))
        #expect(ledger.overdue(now: at(10)) == nil)
        #expect(ledger.overdue(now: at(11)) == key)
    }

    @Test func `request received by two applications fails`() {
        var ledger = RequestLedger()
        let faults = (0..<2).map { _ in ledger.received("it") != nil }
        #expect(faults == [false, true])
    }

    // MARK: - Receipts and presence

    @Test func `receipt beyond the taken or read offset fails`() {
        var members = MemberLedger()
        members.taken(ada, lobby, upTo: 5)
        members.read(ada, lobby, upTo: 3)
        let marks: [(Receipt.Mark, UInt64)] = [(.delivered, 5), (.read, 3), (.delivered, 6), (.read, 4)]
        let faults = marks.map { mark, upTo in
            members.receive(Receipt.Progress(mark, upTo: upTo, sender: ada, device: nil), by: 2, in: lobby) != nil
        }
        #expect(faults == [false, false, true, true])
        #expect(members.received(by: 2, about: ada, in: lobby).delivered == 6)
    }

    @Test func `typing of an account that did not type fails`() {
        var members = MemberLedger()
        let before = members.receiveTyping(of: ada, by: 2, in: lobby)
        members.typed(ada, lobby)
        let after = members.receiveTyping(of: ada, by: 2, in: lobby)
        #expect(before != nil && after == nil)
    }

    // MARK: - Roles

    private func roles(_ operations: RoomOperation...) -> [UInt8] {
        var roles = RoomRoles(owner: .alice)
        for operation in operations {
            roles = (try? roles.applying(operation, by: .administrator, at: 0)) ?? roles
        }
        return roles.encoded()
    }

    @Test func `message of a muted account fails from the change to the end of the mute`() {
        var ledger = RoleLedger(administrator: .bob)
        #expect(ledger.saved(roles(), of: lobby, at: 1000) == true)
        #expect(ledger.saved(roles(.mute(ada, seconds: 5)), of: lobby, at: 2000) == true)
        let permitted = [1999, 2000, 2001, 4999, 5000].map { ledger.mayHavePublished(ada, in: lobby, from: $0, to: $0) }
        #expect(permitted == [true, true, false, false, true])
        #expect(ledger.mayHavePublished(.bob, in: lobby, from: 3000, to: 3000))
        #expect(ledger.wasSilenced(ada, in: lobby, since: 0) && !ledger.wasSilenced(ada, in: lobby, since: 5000))
    }

    @Test func `end of a session fails unless the account was kicked or may not enter`() {
        var ledger = RoleLedger(administrator: .bob)
        #expect(ledger.saved(roles(.ban(ada)), of: lobby, at: 1000) == true)
        #expect(ledger.mayExpel(ada, from: lobby, .roomForbidden))
        #expect(!ledger.mayExpel(.bob, from: lobby, .roomForbidden))
        #expect(!ledger.mayExpel(ada, from: lobby, .kicked) && !ledger.mayExpel(ada, from: lobby, .forbidden))
        ledger.kicked(ada, from: lobby)
        #expect(ledger.mayExpel(ada, from: lobby, .kicked))
        #expect(ledger.saved([1], of: lobby, at: 2000) == false)
    }

    @Test func `operation that was answered without an effect fails`() {
        var ledger = RoleLedger(administrator: .bob)
        #expect(ledger.saved(roles(), of: lobby, at: 1000) == true)
        ledger.sent(key, .ban(ada), in: lobby, at: 1500)
        #expect(ledger.openCount == 1)
        let done = RequestOutcome.answered(status: .none, reason: nil, content: nil)
        #expect(ledger.ended(key, done)?.fault != nil && ledger.ended(key, done) == nil)
        ledger.sent(key, .ban(ada), in: lobby, at: 1500)
        #expect(ledger.saved(roles(.ban(ada)), of: lobby, at: 1600) == true)
        let outcome = ledger.ended(key, done)
        #expect(outcome?.isDone == true && outcome?.fault == nil)
    }

    // MARK: - Gaps

    @Test func `gap passes for removed and oversized messages only`() {
        func entry(_ offset: UInt64, byteCount: Int) -> LogEntry {
            LogEntry(
                offset: offset, sender: ada, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: 0,
                body: EncodedBody([UInt8](repeating: 0, count: byteCount)))
        }
        let log = [entry(1, byteCount: 10), entry(2, byteCount: 101), entry(3, byteCount: 100)]
        func violations(_ offsets: ClosedRange<UInt64>, first: UInt64) -> Int {
            let ledger = Ledger { .zero }
            ledger.logs.begin(lobby, as: nil)
            ledger.stored(log, in: lobby)
            ledger.skipped(offsets, in: lobby, of: nil, first: first, limit: 100, by: 2)
            return ledger.violations.count
        }
        #expect(violations(1...1, first: 2) == 0)
        #expect(violations(1...2, first: 2) == 0)
        #expect(violations(2...3, first: 2) == 1)
        #expect(violations(1...1, first: 1) == 1)
    }

    // MARK: - Quiescence

    @Test func `unreleased count, timer and object are faults with their path`() {
        var inner = QuiescenceCheck("session 3")
        inner.equal("credit", 1, 2)
        inner.equal("credit", 2, 2)
        inner.unset("a timer", at(1))
        inner.unset("a timer", nil)
        inner.empty("frames", count: 2)
        inner.empty("frames", count: 0)
        var check = QuiescenceCheck("link")
        check.add(inner)
        #expect(
            check.faults == [
                "link, session 3: credit is 1, not 2", "link, session 3: a timer is set, to 1000 ms",
                "link, session 3: 2 frames",
            ])
    }

    @Test func `ends with equal credit do not differ, others do`() {
        let table = { (used: UInt64, received: UInt64) in
            CreditTable(link: CreditTable.Totals(used: used, received: received, released: received), sessions: [:])
        }
        #expect(table(5, 7).differences(from: table(7, 5)).isEmpty)
        #expect(table(5, 7).differences(from: table(8, 5)) == ["link: 8 used, 7 received"])
        #expect(table(5, 7).differences(from: table(7, 4)) == ["link: 5 used, 4 received"])
    }
}
