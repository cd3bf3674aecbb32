import Martlet
import MartletDatabase
import MartletLink
import MartletSQLite
import MartletWire

/// A row of the table of entries.
struct EntryRow {
    /// The columns that a row is created from, in this order.
    static let columns = """
        entry.id, entry.room, entry.generation, entry.position, entry.sender, entry.device, entry.counter,
        entry.accepted_at, entry.kind, entry.content, entry.text, entry.state, entry.failure, entry.failure_code,
        entry.failure_reason, entry.flags
        """

    let room: Int64
    private let position: TimelineEntry.Position
    private let message: MessageID?
    private let time: UInt64?
    private let content: TimelineEntry.Content
    private let state: TimelineEntry.State
    private let flags: Int64

    /// Reads the current row of a statement.
    ///
    /// - Throws: `corrupt` if a value is not valid.
    init(_ row: Statement, path: String) throws {
        room = row.int64(1)
        position = TimelineEntry.Position(generation: row.int64(2), offset: row.int64(3), id: row.int64(0))
        guard position.generation >= 0, position.offset >= 0 else { throw DatabaseError.corrupt(path: path) }
        time = row.optionalUInt64(7)
        flags = row.int64(15)
        let bytes = row.bytes(9)
        switch row.int64(8) {
        case TimelineSchema.gap:
            guard let offsets = bytes.offsets else { throw DatabaseError.corrupt(path: path) }
            content = .gap(offsets)
            message = nil
        case TimelineSchema.replacedLog:
            content = .logReplaced
            message = nil
        case let number:
            guard let sender = AccountName(row.text(4)), let kind = UInt16(exactly: number), row.uint64(6) > 0 else {
                throw DatabaseError.corrupt(path: path)
            }
            message = MessageID(sender: sender, device: DeviceID(rawValue: row.uint64(5)), counter: row.uint64(6))
            let edited = flags & TimelineSchema.edited != 0 ? row.text(10) : nil
            content =
                flags & TimelineSchema.deleted != 0
                ? .deleted : Self.content(ContentKind(rawValue: kind), bytes, edited: edited)
        }
        switch row.int64(11) {
        case TimelineSchema.accepted: state = .accepted
        case TimelineSchema.pending, TimelineSchema.retrying: state = .pending
        // The entry is shown unchanged until it is removed.
        case TimelineSchema.removing where row.isNull(12): state = .pending
        default:
            guard let failure = SendFailure(columns: row.int64(12), row.int64(13), row.optionalText(14)) else {
                throw DatabaseError.corrupt(path: path)
            }
            state = .failed(failure)
        }
    }

    private static func content(_ kind: ContentKind, _ bytes: [UInt8], edited: String?) -> TimelineEntry.Content {
        guard let content = try? MessageContent(kind: kind, bytes: bytes), let body = try? MessageBody(content) else {
            return .damaged(kind)
        }
        return .message(edited.map { body.edited($0) } ?? body)
    }

    /// The entry. `reactions` is called if it has reactions.
    func entry(
        _ reactions: (_ room: Int64, MessageID) throws -> [TimelineEntry.Reaction]
    ) throws -> TimelineEntry {
        let hasReactions = flags & TimelineSchema.hasReactions != 0 && flags & TimelineSchema.deleted == 0
        let hasOffset =
            position.generation < TimelineSchema.pendingGeneration && content != .logReplaced
            && flags & TimelineSchema.withoutOffset == 0
        return TimelineEntry(
            id: position.id, position: position, message: message, offset: hasOffset ? UInt64(position.offset) : nil,
            time: time, content: content, state: state, isEdited: flags & TimelineSchema.edited != 0,
            reactions: try message.flatMap { hasReactions ? try reactions(room, $0) : nil } ?? [])
    }
}

extension MessageBody {
    /// The text that a search finds.
    var searchText: String? {
        switch self {
        case .attachment(let attachment): attachment.caption ?? attachment.name
        case .system(_, let text): text
        case .card(let card): card.title
        default: text
        }
    }

    /// The terms of a text of the message, and of the name of its file.
    func searchTerms(of text: String) -> String {
        var name: String?
        if case .attachment(let attachment) = self, attachment.name != text { name = attachment.name }
        return SearchText.terms(of: text, name: name)
    }
}

extension [UInt8] {
    /// The bytes of numbers, big-endian.
    static func numbers(_ numbers: UInt64...) -> [UInt8] {
        numbers.flatMap { number in (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    }

    /// The two numbers as a range; nil if the bytes are not a valid range.
    var offsets: ClosedRange<UInt64>? {
        guard count == 16, number(at: 0) <= number(at: 8) else { return nil }
        return number(at: 0)...number(at: 8)
    }

    /// The number in eight bytes from an index.
    func number(at start: Int) -> UInt64 {
        self[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
