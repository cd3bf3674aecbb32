import MartletWire

/// The dead letters of a room that the application has retried or discarded, each once.
///
/// | letter | left by |
/// |---|---|
/// | claimed, with the counter of the message that replaces it | `takeReplaced`, when that is stored; `unclaim` |
/// | claimed | `unclaim`, when the outbox has not removed it |
///
/// Their number is bounded by the dead letters of the outbox.
struct ClaimedLetters: Sendable {
    private var claimed: Set<MessageID> = []
    private var replaced: [UInt64: MessageID] = [:]

    /// Claims a letter. Returns false if the letter was claimed before.
    mutating func claim(_ letter: MessageID) -> Bool { claimed.insert(letter).inserted }

    mutating func unclaim(_ letters: [MessageID]) { claimed.subtract(letters) }

    func contains(_ letter: MessageID) -> Bool { claimed.contains(letter) }

    /// Reports the counter of the message that replaces a letter.
    mutating func replace(_ letter: MessageID, by counter: UInt64) { replaced[counter] = letter }

    /// Takes the letters that messages replace, by the counters of the messages.
    mutating func takeReplaced(by counters: [UInt64]) -> [UInt64: MessageID] {
        guard !replaced.isEmpty else { return [:] }
        var taken: [UInt64: MessageID] = [:]
        for counter in counters { taken[counter] = replaced.removeValue(forKey: counter) }
        return taken
    }
}
