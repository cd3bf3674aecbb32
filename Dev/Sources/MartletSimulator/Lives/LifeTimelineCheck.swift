import Martlet
import MartletLink
import MartletWire

/// The messages of a log as a reader shows them, with all changes that count (M-9 to M-12).
struct LifeMessages {
    private var deleted: Set<MessageID> = []
    private var edits: [MessageID: String] = [:]
    private var reactions: [MessageID: [String: Set<AccountName>]] = [:]

    init(_ log: [RoomLogs.Entry]) {
        for entry in log {
            switch entry.body {
            case .delete(let target)? where target.id.sender == entry.id.sender: deleted.insert(target.id)
            case .edit(let target, let text)? where target.id.sender == entry.id.sender:
                if entry.erasedAt == nil { edits[target.id] = text }
            case .reaction(let text, let target, let isRemoved)?:
                if isRemoved {
                    reactions[target.id]?[text]?.remove(entry.id.sender)
                } else {
                    reactions[target.id, default: [:]][text, default: []].insert(entry.id.sender)
                }
            default: break
            }
        }
    }

    /// The text of a message; nil if it was deleted.
    func text(of entry: RoomLogs.Entry) -> String? {
        deleted.contains(entry.id) || entry.erasedAt != nil ? nil : edits[entry.id] ?? entry.body?.text
    }

    func reactions(to entry: RoomLogs.Entry) -> Set<String> {
        guard text(of: entry) != nil else { return [] }
        let counts = reactions[entry.id] ?? [:]
        return Set(counts.filter { !$0.value.isEmpty }.map { "\($0.key) \($0.value.count)" })
    }
}

/// The agreement of a timeline with the log, the outbox and the list of its device.
struct LifeTimelineCheck {
    private let ledger: Ledger
    private let view: LifeView
    private let log: [RoomLogs.Entry]

    init(_ ledger: Ledger, _ view: LifeView, _ log: [RoomLogs.Entry]) {
        self.ledger = ledger
        self.view = view
        self.log = log
    }

    func check(_ timeline: LifeTimelineView, _ expected: LifeList) {
        let accepted = timeline.entries.filter { $0.offset != nil }
        // The messages before the first one are above a replacement of the log.
        let first = accepted.first?.offset ?? .max
        let messages = LifeMessages(log)
        let shown = log.filter { entry in
            entry.offset >= first && LifeList.isMessage(entry) && timeline.earlier[entry.id] != entry.offset
        }.map { entry in
            LifeTimelineView.Entry(
                id: entry.id, offset: entry.offset, text: messages.text(of: entry),
                reactions: messages.reactions(to: entry))
        }
        if accepted != shown {
            let pair = zip(accepted, shown).first { $0 != $1 }.map { "\($0), not \($1)" }
            fail("shows \(accepted.count) of \(shown.count) messages: \(pair ?? "none differ")")
        }
        if timeline.hasGaps { fail("has a gap") }
        let unsent = timeline.entries.filter { $0.offset == nil }
        if let pending = unsent.first(where: { $0.failure == nil }) { fail("shows \(pending.id) as pending") }
        let failed = Set(unsent.map(\.id))
        let letters = Set(view.letters.filter { (try? MessageBody($0.content))?.text != nil }.map(\.id))
        if !letters.isSubset(of: failed) { fail("shows \(failed.count) of \(letters.count) failed messages") }
        // A message that the log has again at the offset of the earlier one keeps its place.
        let lost = ledger.logs.lostDeletions(in: view.room)
        let kept = log.count { $0.offset >= first && timeline.earlier[$0.id] == $0.offset } + lost.count
        if abs(timeline.unreadCount - expected.unreadCount) > kept {
            fail("has \(timeline.unreadCount) of \(expected.unreadCount) unread messages")
        }
        if timeline.membership != view.summary?.membership { fail("has the record \(timeline.membership as Any)") }
        // The last message that was not accepted is shown after all others (M-28).
        if unsent.isEmpty, lost.isEmpty, timeline.lastText != expected.lastText {
            fail("ends with \(timeline.lastText ?? "nothing"), not \(expected.lastText ?? "nothing")")
        }
        // A call that has thrown leaves no entry.
        for entry in unsent {
            if let text = entry.text, ledger.sent[text]?.state == .isNotStored {
                ledger.fail(.refusedLeavesNoTrace, "the timeline of device \(view.device) shows \"\(text)\"")
            }
        }
    }

    private func fail(_ detail: String) {
        ledger.fail(.timelinesAgree, "device \(view.device): \(view.room) \(detail)")
    }
}
