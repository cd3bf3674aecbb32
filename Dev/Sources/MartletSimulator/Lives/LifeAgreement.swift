import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The state of a device in a room at the end of a run.
struct LifeView {
    let device: Int
    let account: AccountName
    let room: RoomName
    let snapshot: Room.Snapshot
    /// The room in the client's list.
    let summary: RoomSummary?
    /// The number of messages without an outcome in the outbox.
    let pendingCount: Int
    let letters: [DeadLetter]
    let timeline: LifeTimelineView?
}

/// The agreement of log, store, outboxes, timelines and all devices at the end of a run, after the last fault.
struct LifeAgreement {
    private let ledger: LifeLedger
    private let accounts: Set<AccountName>
    private let store: LifeStore

    init(_ ledger: LifeLedger, _ scenario: LifeScenario, _ store: LifeStore) {
        self.ledger = ledger
        accounts = Set(scenario.devices.map(\.account))
        self.store = store
    }

    func check(_ views: [LifeView]) {
        for room in ledger.log.rooms {
            let present = views.filter { $0.room == room }
            checkMessages(of: room, present)
            let log = ledger.log[room]
            for view in present {
                checkSnapshot(view, log)
                let read = present.first { $0.account == view.account }?.snapshot.readOffset ?? 0
                let expected = LifeList(log, of: view.account, read: read)
                checkList(view, expected, read)
                checkMarks(view, present, log)
                if let timeline = view.timeline { LifeTimelineCheck(ledger, view, log).check(timeline, expected) }
            }
        }
    }

    // MARK: - Log and outboxes

    /// Each message is once in the log or in an outbox, in the order of the calls.
    private func checkMessages(of room: RoomName, _ views: [LifeView]) {
        var counts: [String: Int] = [:]
        var last: [String: Int] = [:]
        for entry in ledger.log[room] where !entry.text.isEmpty {
            counts[entry.text, default: 0] += 1
            if counts[entry.text] == 1 { checkOrder(of: entry, in: room, &last) }
        }
        // An edit can be erased by a deletion that is stored together with it. With a new device ID it has the counter.
        let erased = ledger.log[room].filter { $0.erasedAt == $0.offset }.map(\.id)
        let letters = Dictionary(grouping: views.flatMap(\.letters)) { LifeLog.text(of: $0.content) ?? "" }
        for (text, count) in counts.sorted(by: { $0.key < $1.key }) where count > 1 && !mayRepeat(text) {
            ledger.fail(
                text.hasPrefix("re") ? .repliesAreStoredOnce : .queuedIsStoredOnce,
                "\"\(text)\" is stored \(count) times in \(room)")
        }
        for (text, record) in ledger.sent.sorted(by: { $0.key < $1.key }) where record.room == room {
            let isErased = erased.contains { $0.sender == record.id?.sender && $0.counter == record.id?.counter }
            check(text, record, counts[text] ?? (isErased ? 1 : 0), letters[text] ?? [])
        }
    }

    private func mayRepeat(_ text: String) -> Bool {
        if ledger.sent[text]?.mayRepeat == true { return true }
        let words = text.split(separator: " ")
        return words.first == "reply" && Int(words[1]).map(ledger.restoredDevices.contains) == true
    }

    private func check(_ text: String, _ record: LifeLedger.Record, _ count: Int, _ letters: [DeadLetter]) {
        let name = "\"\(text)\" of device \(record.device)"
        let promise: BrokenPromise.Promise =
            text.hasPrefix("re") ? .repliesAreStoredOnce : .queuedIsStoredOnce
        switch record.state {
        case .isStored where count == 0 && letters.isEmpty:
            ledger.fail(promise, "\(name) is neither stored in \(record.room) nor a dead letter")
        case .isNotStored where count > 0 || !letters.isEmpty:
            ledger.fail(.thrownLeavesNoTrace, "\(name) is \(count > 0 ? "stored" : "a dead letter"), and was refused")
        case .isCancelled where count > 0:
            ledger.fail(.queuedIsStoredOnce, "\(name) is stored although it was cancelled")
        case .mayBeStored, .isStored, .isNotStored, .isCancelled: break
        }
        if count > 0, !record.mayRepeat, !ledger.restoredDevices.contains(record.device),
            let letter = letters.first(where: { $0.failure != .outcomeUnknown })
        {
            ledger.fail(promise, "\(name) is stored in \(record.room), and failed: \(letter.failure.key)")
        }
    }

    /// The texts of a device contain rising numbers.
    private func checkOrder(of entry: LifeLog.Entry, in room: RoomName, _ last: inout [String: Int]) {
        let words = entry.text.split(separator: " ")
        guard words.count == 3, words[0] == "message", let number = Int(words[2]),
            let record = ledger.sent[entry.text], !record.isRetried, !record.mayRepeat
        else { return }
        let device = String(words[1])
        if let before = last[device], before > number {
            ledger.fail(.sentInOrder, "\"\(entry.text)\" is stored after number \(before) in \(room)")
        }
        last[device] = number
    }

    // MARK: - Devices

    private func checkSnapshot(_ view: LifeView, _ log: [LifeLog.Entry]) {
        let snapshot = view.snapshot
        if snapshot.lastOffset != UInt64(log.count) || snapshot.log != ledger.log.id(of: view.room) {
            fail(.snapshotsAreCurrent, view, "knows \(snapshot.lastOffset) of \(log.count) messages")
        }
        let online = snapshot.members.filter { $0.presence == .online }.map(\.account)
        if Set(online) != accounts || online.count != snapshot.members.count {
            fail(.snapshotsAreCurrent, view, "has the members \(snapshot.members)")
        }
        if view.pendingCount > 0 { fail(.outboxesAreEmpty, view, "has \(view.pendingCount) pending messages") }
    }

    private func checkList(_ view: LifeView, _ expected: LifeList, _ read: UInt64) {
        let record = store.present.load(view.room).memberships[view.account]
        let state: LifeMembers.State = record.map { $0.isJoined ? .joined : .invited } ?? .none
        if !ledger.members.possible(of: view.account, in: view.room).contains(state) {
            fail(.listsAreCurrent, view, "has the stored record \(state)")
        }
        guard let summary = view.summary else {
            if state != .none { fail(.listsAreCurrent, view, "is not in the list, but \(state)") }
            return
        }
        if (summary.isJoined ? .joined : .invited) != state { fail(.listsAreCurrent, view, "is listed, but \(state)") }
        if summary.lastOffset != UInt64(ledger.log[view.room].count) || summary.readUpTo != read
            || summary.unreadCount != expected.unreadCount
        {
            fail(
                .listsAreCurrent, view,
                "is listed with \(summary.unreadCount) of \(expected.unreadCount) unread messages, read up to "
                    + "\(summary.readUpTo) of \(read), last \(summary.lastOffset)")
        }
        if summary.lastMessage?.id != expected.last?.id || summary.lastMessage?.text != expected.lastText {
            fail(.listsAreCurrent, view, "is listed with \"\(summary.lastMessage?.text ?? "nothing")\"")
        }
    }

    /// All devices of an account have the same read offset, and the marks of another account reach the last message of
    /// this account if that one has received or read it.
    private func checkMarks(_ view: LifeView, _ views: [LifeView], _ log: [LifeLog.Entry]) {
        let own = log.last { $0.id.sender == view.account }?.offset ?? 0
        for other in views where other.device != view.device {
            let read = other.snapshot.readOffset
            guard other.account != view.account else {
                if read != view.snapshot.readOffset {
                    let own = view.snapshot.readOffset
                    fail(.marksAgree, view, "is read up to \(own), on device \(other.device) \(read)")
                }
                continue
            }
            let marks = view.snapshot.marks[other.account]
            let (shownDelivered, shownRead) = (marks?.delivered ?? 0, marks?.read ?? 0)
            if own > 0, shownDelivered < own || (shownRead >= own) != (read >= own) || shownRead > read {
                fail(
                    .marksAgree, view,
                    "shows \(shownDelivered) and \(shownRead) of \(other.account) for \(own), read up to \(read)")
            }
        }
    }

    private func fail(_ promise: BrokenPromise.Promise, _ view: LifeView, _ detail: String) {
        ledger.fail(promise, "device \(view.device): \(view.room) \(detail)")
    }
}

/// The unread count and the last message of a room in a list, from the log (M-27, M-28).
struct LifeList {
    let unreadCount: Int
    let last: LifeLog.Entry?
    /// The text of the last message with its latest edit; nil if it was deleted.
    let lastText: String?

    init(_ log: [LifeLog.Entry], of account: AccountName, read: UInt64) {
        let newest = log.suffix(256)
        let unread = newest.count { entry in
            guard entry.offset > read, entry.id.sender != account, entry.erasedAt == nil else { return false }
            return Self.isMessage(entry)
        }
        unreadCount = min(unread, 100)
        last = newest.last(where: Self.isMessage)
        lastText = last.flatMap { LifeMessages(log).text(of: $0) }
    }

    /// The applications send no other kinds that count and are listed.
    static func isMessage(_ entry: LifeLog.Entry) -> Bool {
        switch entry.body {
        case .text?, .reply?, .other(.erased)?: true
        default: false
        }
    }
}
