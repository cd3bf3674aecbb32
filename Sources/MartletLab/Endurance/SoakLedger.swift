/// What one member of a room has seen of it: whether anything is missing, or there twice.
struct SoakLedger: Sendable {
    /// The highest offset seen; the next one is to be one more.
    private(set) var lastOffset: UInt64 = 0
    /// Each sender's last message by the sender's own count; the next one is to be one more.
    private var lastNumber: [Int: Int] = [:]
    private(set) var shownCount = 0
    private(set) var lostCount = 0
    private(set) var doubledCount = 0

    /// Counts a message of the room; nil stands for one that no member sent.
    mutating func take(offset: UInt64, sender: Int?, number: Int?) {
        guard offset > lastOffset else { return doubledCount += 1 }
        lostCount += Int(offset - lastOffset - 1)
        lastOffset = offset
        shownCount += 1
        guard let sender, let number else { return lostCount += 1 }
        let last = lastNumber[sender] ?? 0
        if number <= last { doubledCount += 1 } else { lostCount += number - last - 1 }
        lastNumber[sender] = max(last, number)
    }

    /// Ends the count: the room has so many messages, and those that did not come are lost.
    mutating func finish(headOf room: UInt64) {
        lostCount += Int(max(room, lastOffset) - lastOffset)
    }
}
