import MartletLink
import MartletWire

/// The receipts, cancels and presence that wait until a member's link has room (R-37, R-52, Specs/hostile.md row 46,
/// Specs/hostile.md row 47).
///
/// Receipts are cumulative, so an account has one entry; its highest offset is read when the receipt is sent. Likewise
/// the presence of an account is read when it is sent.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | nothing | `note` |
/// | pending | accounts, numbers of requests | the link takes all, in several steps; the member leaves |
struct PendingChanges: Sendable {
    /// The maximum number of frames that are sent in one step.
    static let maxStepCount = 16
    /// The maximum number of accounts with pending receipts. A receipt of another account is sent when its offset rises
    /// next.
    static let maxAccounts = 1024
    /// The maximum number of pending cancels, beyond which the member gets no further requests.
    static let maxCancels = 256
    /// The maximum number of accounts whose presence is sent in one step, and of the session's transient frames that
    /// may wait before it. The session drops none for them (S-52).
    static let maxPresenceStepCount = 4

    /// The receipts of an account that have risen.
    struct Marks: Sendable {
        var delivered: Origin?
        var read: Origin?
    }

    /// The device that caused a receipt; nil when the offset rose before the member joined.
    struct Origin: Sendable {
        var device: DeviceID?
    }

    private var marks: [AccountName: Marks] = [:]
    /// The accounts in the order of their first receipts.
    private var order = Deque<AccountName>()
    private var cancels = Deque<UInt64>()
    /// The accounts whose presence the member does not know.
    private var presence = Deque<AccountName>()

    var isEmpty: Bool { !hasReliable && presence.isEmpty }
    /// Whether receipts or cancels are pending.
    var hasReliable: Bool { !order.isEmpty || !cancels.isEmpty }
    /// Whether the presence of accounts is pending.
    var hasPresence: Bool { !presence.isEmpty }
    /// Accounts with pending receipts, and accounts with pending presence.
    var accountCount: Int { order.count + presence.count }
    var cancelCount: Int { cancels.count }

    /// An offset of an account has risen. Returns true when the account had no pending receipt.
    @discardableResult
    mutating func note(_ mark: Receipt.Mark, of account: AccountName, on device: DeviceID?) -> Bool {
        let isNew = marks[account] == nil
        if isNew {
            guard order.count < PendingChanges.maxAccounts else { return false }
            order.append(account)
        }
        let origin = Origin(device: device)
        if mark == .read {
            marks[account, default: Marks()].read = origin
        } else {
            marks[account, default: Marks()].delivered = origin
        }
        return isNew
    }

    /// A request that the member received is cancelled.
    mutating func note(cancel number: UInt64) {
        cancels.append(number)
    }

    /// The member does not know the presence of these accounts. Each has one entry.
    mutating func note(presenceOf accounts: [AccountName]) {
        let known = Set(presence)
        for account in accounts where !known.contains(account) { presence.append(account) }
    }

    mutating func popMarks() -> (account: AccountName, marks: Marks)? {
        guard let account = order.popFirst() else { return nil }
        return (account, marks.removeValue(forKey: account) ?? Marks())
    }

    mutating func popCancel() -> UInt64? { cancels.popFirst() }

    mutating func popPresence() -> AccountName? { presence.popFirst() }
}
