import MartletWire

/// The receipts and cancels that wait until a member's link has room (R-52, Specs/hostile.md row 46, Specs/hostile.md
/// row 47).
///
/// Receipts are cumulative, so an account waits once; its highest offset is read when the receipt is sent.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | nothing | a mark rises, a request is withdrawn |
/// | waiting | accounts, numbers of requests | its link asks for some, until it has had all; the member leaves |
struct MemberNews: Sendable {
    /// Frames that are sent at once.
    static let maxToldCount = 16
    /// Accounts whose receipts wait. A receipt of another account is sent when its mark rises next.
    static let maxAccounts = 1024
    /// Cancels that wait. Beyond it the member gets no further requests.
    static let maxWithdrawn = 256

    /// Which marks of an account have risen.
    struct Marks: Sendable {
        var delivered: Origin?
        var read: Origin?
    }

    /// Where a mark has risen; without a device where it rose before the member came.
    struct Origin: Sendable {
        var device: DeviceID?
    }

    private var marks: [AccountName: Marks] = [:]
    /// Their accounts in the order in which they came.
    private var order = Deque<AccountName>()
    private var withdrawn = Deque<UInt64>()

    var isEmpty: Bool { order.isEmpty && withdrawn.isEmpty }
    var accountCount: Int { order.count }
    var withdrawnCount: Int { withdrawn.count }

    /// A mark of an account has risen.
    mutating func note(_ mark: Receipt.Mark, of account: AccountName, on device: DeviceID?) {
        var mine = marks[account] ?? Marks()
        if mine.delivered == nil, mine.read == nil {
            guard order.count < MemberNews.maxAccounts else { return }
            order.append(account)
        }
        if mark == .read { mine.read = Origin(device: device) } else { mine.delivered = Origin(device: device) }
        marks[account] = mine
    }

    /// A request that the member was passed is withdrawn.
    mutating func note(withdrawn number: UInt64) {
        withdrawn.append(number)
    }

    mutating func popMarks() -> (account: AccountName, marks: Marks)? {
        guard let account = order.popFirst() else { return nil }
        return (account, marks.removeValue(forKey: account) ?? Marks())
    }

    mutating func popWithdrawn() -> UInt64? { withdrawn.popFirst() }
}
