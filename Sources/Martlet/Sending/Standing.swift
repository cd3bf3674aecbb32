import MartletProtocol
import MartletWire

/// What an observer of one message has been told, so that it is told only what is new.
struct Standing: Sendable {
    private var phase: SendLedger.Phase?
    private var marks: [AccountName: Receipt.Mark] = [:]

    /// Where the message stands as far as that has not been told; nil when all has. Phases that passed between are left
    /// out, and *delivered* is where *read* is known.
    mutating func next(_ counter: UInt64, in ledger: SendLedger) -> Sending.State? {
        guard let record = ledger.record(of: counter) else { return nil }
        if record.phase != phase {
            phase = record.phase
            switch record.phase {
            case .queued: return .queued
            case .sent: return .sent
            case .accepted: return .accepted(offset: record.offset)
            case .failed: return .failed(ledger.failure(of: counter) ?? .closed)
            }
        }
        guard record.phase == .accepted, record.offset > 0 else { return nil }
        for member in ledger.progress {
            if member.read >= record.offset, marks[member.account] != .read {
                marks[member.account] = .read
                return .read(by: member.account)
            }
            if member.delivered >= record.offset, marks[member.account] == nil {
                marks[member.account] = .delivered
                return .delivered(to: member.account)
            }
        }
        return nil
    }

    /// The furthest that a message got.
    static func furthest(_ counter: UInt64, in ledger: SendLedger) -> Sending.State? {
        var standing = Standing()
        var furthest = standing.next(counter, in: ledger)
        while let further = standing.next(counter, in: ledger) {
            if case .read = further { return further }
            furthest = further
        }
        return furthest
    }
}
