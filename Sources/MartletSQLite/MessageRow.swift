import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// A row of the table of messages.
struct MessageRow {
    enum State {
        case pending(OutboxEntry)
        /// An outcome, with the dead letter if the message has failed.
        case settled(OutboxOutcome, DeadLetter?)
    }

    /// The columns that a row is created from, in this order.
    static let columns = """
        counter, sender, room, state, kind, content, lifetime, expires_at, is_compressible, offset, failure,
        failure_code, failure_reason, in_flight_at, device, file
        """

    let state: State

    /// Reads the current row of a statement; nil if a value is not valid.
    ///
    /// - Parameter device: The current device.
    init?(_ row: Statement, device: DeviceID) {
        guard let sender = AccountName(row.text(1)), let room = RoomName(row.text(2)), row.int64(0) > 0 else {
            return nil
        }
        let former = row.optionalUInt64(14).map { DeviceID(rawValue: $0) }
        let id = MessageID(sender: sender, device: former ?? device, counter: row.uint64(0))
        if row.int64(3) == OutboxSchema.accepted {
            state = .settled(OutboxOutcome(id: id, room: room, result: .accepted(offset: row.uint64(9))), nil)
            return
        }
        guard let kind = UInt16(exactly: row.int64(4)),
            let content = try? MessageContent(kind: ContentKind(rawValue: kind), bytes: row.bytes(5))
        else { return nil }
        let entry = OutboxEntry(
            id: id, room: room, content: content, timeToLive: row.optionalInt64(6).map { .milliseconds($0) },
            expiresAt: row.optionalUInt64(7), isCompressible: row.int64(8) != 0,
            inFlightSince: row.int64(3) == OutboxSchema.inFlight ? row.optionalUInt64(13) ?? 0 : nil,
            file: row.optionalText(15))
        switch row.int64(3) {
        case OutboxSchema.pending, OutboxSchema.inFlight: state = .pending(entry)
        case OutboxSchema.failed:
            guard let failure = SendFailure(columns: row.int64(10), row.int64(11), row.optionalText(12)) else {
                return nil
            }
            state = .settled(
                OutboxOutcome(id: id, room: room, result: .failed(failure)), DeadLetter(entry, failure: failure))
        default: return nil
        }
    }
}

extension SendFailure {
    /// Creates a failure from the columns `failure`, `failure_code` and `failure_reason`; nil if they are not valid.
    package init?(columns kind: Int64, _ code: Int64, _ reason: String?) {
        switch kind {
        case 0:
            guard let code = UInt16(exactly: code) else { return nil }
            self = .refused(ErrorCode(rawValue: code), reason: reason)
        case 1: self = .expired
        case 2: self = .cancelled
        case 3: self = .closed
        case 4: self = .outcomeUnknown
        case 5: self = .fileFailed
        default: return nil
        }
    }

    /// The values of the columns `failure`, `failure_code` and `failure_reason`.
    package var columns: (kind: Int64, code: Int64?, reason: String?) {
        switch self {
        case .refused(let code, let reason): (0, Int64(code.rawValue), reason)
        case .expired: (1, nil, nil)
        case .cancelled: (2, nil, nil)
        case .closed: (3, nil, nil)
        case .outcomeUnknown: (4, nil, nil)
        case .fileFailed: (5, nil, nil)
        }
    }
}
