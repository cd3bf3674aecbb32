import MartletWire

/// The offsets up to which the members of a room have received and read messages.
struct MemberMarks: Sendable {
    /// The maximum number of members whose receipts are kept. Beyond it, the lowest receipts are discarded.
    static let maxCount = 1024

    /// The offsets up to which a member has received and read messages.
    struct Progress: Sendable, Equatable {
        let account: AccountName
        var delivered: UInt64 = 0
        var read: UInt64 = 0
    }

    private(set) var all: [Progress] = []
    private var indexOfAccount: [AccountName: Int] = [:]

    /// Raises the offset of a member. Returns false if it is not higher.
    mutating func raise(_ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64) -> Bool {
        let index = index(of: account)
        let before = all[index]
        all[index].delivered = max(before.delivered, offset)
        if mark == .read { all[index].read = max(before.read, offset) }
        return all[index] != before
    }

    private mutating func index(of account: AccountName) -> Int {
        if let index = indexOfAccount[account] { return index }
        var index = all.count
        if index < Self.maxCount {
            all.append(Progress(account: account))
        } else {
            index = all.indices.min { (all[$0].read, all[$0].delivered) < (all[$1].read, all[$1].delivered) }!
            indexOfAccount[all[index].account] = nil
            all[index] = Progress(account: account)
        }
        indexOfAccount[account] = index
        return index
    }
}
