import MartletLink
public import MartletWire

/// The effects of all changes of one message. The order in which the changes are applied has no meaning (M-10).
///
/// | state | left by |
/// |---|---|
/// | present, with its own text or that of the latest edit | a deletion |
/// | deleted | nothing (M-11) |
public struct MessageEffects: Equatable, Sendable {
    /// The reaction of an account.
    public struct Reaction: Hashable, Sendable {
        /// The account.
        public let author: AccountName
        /// The text of the reaction.
        public let text: String

        /// Returns whether the accounts and the bytes of the texts are equal.
        public static func == (left: Reaction, right: Reaction) -> Bool {
            left.author == right.author && left.text.utf8.elementsEqual(right.text.utf8)
        }
    }

    private struct Edit: Equatable {
        var offset: UInt64
        var text: String
    }

    private struct Mark: Equatable {
        var offset: UInt64
        var isRemoved: Bool
    }

    /// The maximum number of pairs of account and reaction, removed ones included. Beyond it, the pair with the lowest
    /// offset is dropped (M-12).
    public static let maxReactionCount = 1024

    private var edit: Edit?
    private var marks: [Reaction: Mark] = [:]
    /// Whether the message is deleted. It then has neither a text nor reactions.
    public private(set) var isDeleted = false

    /// Creates the effects of no change.
    public init() {}

    /// The text of the latest edit; nil if there is none.
    public var text: String? { isDeleted ? nil : edit?.text }

    /// The current reactions, in the order of their offsets.
    public var reactions: [Reaction] {
        guard !isDeleted else { return [] }
        return marks.filter { !$0.value.isRemoved }.sorted { $0.value.offset < $1.value.offset }.map(\.key)
    }

    /// Applies a change at an offset of the log. A change that was applied before has no effect. Offsets of a later log
    /// of the room must be passed as higher ones (M-13).
    public mutating func apply(_ change: MessageChange, at offset: UInt64) {
        switch change.effect {
        case .deletion: isDeleted = true
        case .edit(let text):
            if let edit, edit.offset >= offset { return }
            edit = Edit(offset: offset, text: text)
        case .reaction(let text, let isRemoved):
            let reaction = Reaction(author: change.author, text: text)
            if let mark = marks[reaction], mark.offset >= offset { return }
            marks[reaction] = Mark(offset: offset, isRemoved: isRemoved)
            if marks.count > Self.maxReactionCount, let oldest = marks.min(by: { $0.value.offset < $1.value.offset }) {
                marks[oldest.key] = nil
            }
        }
    }
}

extension MessageEffects {
    /// Returns the current body of the message: with the text of the latest edit, if an edit replaces its text (M-4);
    /// nil if the message is deleted (M-5).
    public func body(of original: MessageBody) -> MessageBody? {
        if isDeleted { return nil }
        return text.map { original.edited($0) } ?? original
    }
}
