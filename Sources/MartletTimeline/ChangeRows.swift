import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// The stored changes of messages, as effects.
final class ChangeRows {
    /// The effects of all changes of a message.
    struct Loaded {
        var effects = MessageEffects()
        /// Whether the relay has stored a deletion, so that the content is erased.
        var isErased = false
    }

    private let select: Statement
    private let path: String

    init(_ database: Database) throws(DatabaseError) {
        path = database.path
        select = try database.prepare(
            """
            SELECT sender, generation, effect, text FROM change
            WHERE room = ? AND target_sender = ? AND target_device = ? AND target_counter = ?
            ORDER BY generation, position
            """)
    }

    /// Loads the changes of a message in the order of their places, which is the order of the offsets (M-10).
    func load(_ target: MessageID, room: Int64) throws -> Loaded {
        var loaded = Loaded()
        select.bind(1, room)
        select.bind(identity: target, from: 2)
        defer { select.reset() }
        var place: UInt64 = 0
        while try select.step() {
            guard let author = AccountName(select.text(0)) else { throw DatabaseError.corrupt(path: path) }
            let text = select.text(3)
            let reference = MessageReference(target)
            let body: MessageBody =
                switch select.int64(2) {
                case TimelineSchema.edit: .edit(of: reference, text: text)
                case TimelineSchema.deletion: .delete(reference)
                case TimelineSchema.reaction: .reaction(text, to: reference, isRemoved: false)
                default: .reaction(text, to: reference, isRemoved: true)
                }
            if case .delete = body, select.int64(1) < TimelineSchema.pendingGeneration { loaded.isErased = true }
            place += 1
            // Only changes that count are stored.
            if let change = MessageChange(body, by: author, isModerator: true) {
                loaded.effects.apply(change, at: place)
            }
        }
        return loaded
    }
}

extension Statement {
    /// Binds account, device and counter to three parameters.
    func bind(identity id: MessageID, from index: Int32) {
        bind(index, id.sender.text)
        bind(index + 1, id.device.rawValue)
        bind(index + 2, id.counter)
    }
}
