import MartletLink
import MartletWire

/// The members of each account in a room.
///
/// | state | owns | ends |
/// |---|---|---|
/// | unlisted | nothing: a search visits the few members | a join beyond `maxUnlistedCount` |
/// | listed | a list of slots for each account | the room is evicted |
struct AccountSlots: Sendable {
    /// The maximum number of members of a room without lists.
    static let maxUnlistedCount = 16

    private var lists: [AccountName: [Int]] = [:]
    /// The number of joins, which orders the members of an account.
    private var joinCount: UInt32 = 0

    /// A member has joined at a slot.
    mutating func add(_ slot: Int, to members: inout SlotTable<RoomMember>) {
        joinCount &+= 1
        members[slot].joinNumber = joinCount
        guard members.slots.count > AccountSlots.maxUnlistedCount else { return }
        if lists.isEmpty {
            let present = members.slots.filter { members.isLive($0) && !members[$0].hasLeft }
            for slot in present.sorted(by: { AccountSlots.precedes($0, $1, members) }) {
                lists[members[slot].who.account, default: []].append(slot)
            }
        } else {
            lists[members[slot].who.account, default: []].append(slot)
        }
    }

    /// The member at a slot has left.
    mutating func remove(_ slot: Int, of account: AccountName) {
        guard !lists.isEmpty else { return }
        lists[account]?.removeAll { $0 == slot }
        if lists[account]?.isEmpty == true { lists[account] = nil }
    }

    /// The slots of an account's present members in the order of their joins.
    func slots(of account: AccountName, in members: borrowing SlotTable<RoomMember>) -> [Int] {
        guard lists.isEmpty else { return lists[account] ?? [] }
        var slots: [Int] = []
        for slot in members.slots where members.isLive(slot) {
            if !members[slot].hasLeft, members[slot].who.account == account { slots.append(slot) }
        }
        // Usually there is one.
        return slots.count < 2 ? slots : slots.sorted { AccountSlots.precedes($0, $1, members) }
    }

    private static func precedes(_ left: Int, _ right: Int, _ members: borrowing SlotTable<RoomMember>) -> Bool {
        Int32(bitPattern: members[left].joinNumber &- members[right].joinNumber) < 0
    }
}
