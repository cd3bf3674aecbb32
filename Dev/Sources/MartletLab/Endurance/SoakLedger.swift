/// The record of the messages that one member of a room received, which detects lost and duplicate ones.
struct SoakLedger: Sendable {
    /// The highest received offset. The next expected offset is higher by one.
    private(set) var lastOffset: UInt64 = 0
    /// The number of the last message of each sender. The next expected number is higher by one.
    private var lastNumber: [Int: Int] = [:]
    private(set) var receivedCount = 0
    private(set) var lostCount = 0
    private(set) var duplicateCount = 0

    /// Records a message of the room. `sender` and `number` are nil for a message that no member sent.
    mutating func record(offset: UInt64, sender: Int?, number: Int?) {
        guard offset > lastOffset else { return duplicateCount += 1 }
        lostCount += Int(offset - lastOffset - 1)
        lastOffset = offset
        receivedCount += 1
        guard let sender, let number else { return lostCount += 1 }
        let last = lastNumber[sender] ?? 0
        if number <= last { duplicateCount += 1 } else { lostCount += number - last - 1 }
        lastNumber[sender] = max(last, number)
    }

    /// Ends the record. Messages up to the room's last offset that were not received count as lost.
    mutating func finish(lastOffset roomOffset: UInt64) {
        lostCount += Int(max(roomOffset, lastOffset) - lastOffset)
    }
}
