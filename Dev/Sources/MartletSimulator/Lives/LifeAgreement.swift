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
    private let ledger: Ledger
    private let members: LifeMembers
    private let accounts: Set<AccountName>
    private let store: LifeStore

    init(_ ledger: Ledger, _ members: LifeMembers, _ scenario: LifeScenario, _ store: LifeStore) {
        self.ledger = ledger
        self.members = members
        accounts = Set(scenario.devices.map(\.account))
        self.store = store
    }

    func check(_ views: [LifeView]) {
        for room in ledger.logs.rooms {
            let present = views.filter { $0.room == room }
            ledger.checkOutcomes(in: room, letters: present.flatMap(\.letters))
            let log = ledger.logs[room]
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

    private func checkSnapshot(_ view: LifeView, _ log: [RoomLogs.Entry]) {
        let snapshot = view.snapshot
        if snapshot.lastOffset != UInt64(log.count) || snapshot.log != ledger.logs.id(of: view.room) {
            fail(.snapshotsAreCurrent, view, "knows \(snapshot.lastOffset) of \(log.count) messages")
        }
        let online = snapshot.members.filter { $0.presence == .online }.map(\.account)
        if Set(online) != accounts || online.count != snapshot.members.count {
            fail(.snapshotsAreCurrent, view, "has the members \(snapshot.members)")
        }
        if view.pendingCount > 0 { fail(.nothingIsRetained, view, "has \(view.pendingCount) pending messages") }
    }

    private func checkList(_ view: LifeView, _ expected: LifeList, _ read: UInt64) {
        let record = store.present.load(view.room).memberships[view.account]
        let state: LifeMembers.State = record.map { $0.isJoined ? .joined : .invited } ?? .none
        if !members.possible(of: view.account, in: view.room).contains(state) {
            fail(.listsAreCurrent, view, "has the stored record \(state)")
        }
        guard let summary = view.summary else {
            if state != .none { fail(.listsAreCurrent, view, "is not in the list, but \(state)") }
            return
        }
        if (summary.isJoined ? .joined : .invited) != state { fail(.listsAreCurrent, view, "is listed, but \(state)") }
        if summary.lastOffset != UInt64(ledger.logs[view.room].count) || summary.readUpTo != read
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
    private func checkMarks(_ view: LifeView, _ views: [LifeView], _ log: [RoomLogs.Entry]) {
        let own = log.last { $0.id.sender == view.account }?.offset ?? 0
        for other in views where other.device != view.device {
            let read = other.snapshot.readOffset
            guard other.account != view.account else {
                if read != view.snapshot.readOffset {
                    let own = view.snapshot.readOffset
                    fail(.receiptsAreCorrect, view, "is read up to \(own), on device \(other.device) \(read)")
                }
                continue
            }
            let marks = view.snapshot.marks[other.account]
            let (shownDelivered, shownRead) = (marks?.delivered ?? 0, marks?.read ?? 0)
            if own > 0, shownDelivered < own || (shownRead >= own) != (read >= own) || shownRead > read {
                fail(
                    .receiptsAreCorrect, view,
                    "shows \(shownDelivered) and \(shownRead) of \(other.account) for \(own), read up to \(read)")
            }
        }
    }

    private func fail(_ invariant: Violation.Invariant, _ view: LifeView, _ detail: String) {
        ledger.fail(invariant, "device \(view.device): \(view.room) \(detail)")
    }
}

/// The unread count and the last message of a room in a list, from the log (M-27, M-28).
struct LifeList {
    let unreadCount: Int
    let last: RoomLogs.Entry?
    /// The text of the last message with its latest edit; nil if it was deleted.
    let lastText: String?

    init(_ log: [RoomLogs.Entry], of account: AccountName, read: UInt64) {
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
    static func isMessage(_ entry: RoomLogs.Entry) -> Bool {
        switch entry.body {
        case .text?, .reply?, .other(.erased)?: true
        default: false
        }
    }
}
