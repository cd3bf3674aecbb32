import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct RoomMembershipsTests {
    private let open = MembershipRights(usesRoles: false, roles: nil)

    private func call(
        _ operation: MembershipOperation, by account: AccountName = .alice, _ number: UInt64 = 1
    ) -> MembershipCall {
        let key = MemberKey(link: LinkKey(slot: 1, generation: 1), session: SessionID(rawValue: 1))
        return MembershipCall(
            caller: key, number: number, who: DeviceKey(account: account, device: DeviceID(rawValue: 1)),
            permissions: .all, room: .lobby, operation: operation)
    }

    //
    @Test("requests of two accounts that wait are saved together, two of one account one after the other")
    func batches() {
        var memberships = RoomMemberships()
        memberships.append(call(.join))
        memberships.append(call(.join, by: .bob))
        memberships.append(call(.leave, 2))
        let first = memberships.beginSaving(at: 7, open)
        #expect(first.answers.isEmpty)
        #expect(
            first.changes == [
                .alice: MembershipRecord(isJoined: true, changedAt: 7),
                .bob: MembershipRecord(isJoined: true, changedAt: 7),
            ])
        #expect(memberships.beginSaving(at: 8, open).changes.isEmpty)
        let saved = memberships.saved(refused: [])
        #expect(saved.answers.map(\.status) == [.none, .none] && memberships.joined.count == 2)
        #expect(memberships.beginSaving(at: 8, open).changes == [.alice: MembershipRecord?.none])
        #expect(memberships.saved(refused: []).answers.map(\.status) == [.none])
        #expect(memberships[.alice] == nil && !memberships.isBusy)
    }

    //
    @Test("a room with the maximum number of records refuses a new record, and a record of the store is refused too")
    func bounds() {
        var records: [AccountName: MembershipRecord] = [:]
        for number in 0..<MembershipBounds.maxCountPerRoom {
            records[.named("account \(number)")] = MembershipRecord(isJoined: true, changedAt: 1)
        }
        var memberships = RoomMemberships(records)
        memberships.append(call(.join))
        #expect(memberships.beginSaving(at: 1, open).answers.map(\.status) == [.tooManyMemberships])
        var others = RoomMemberships()
        others.append(call(.join))
        #expect(others.beginSaving(at: 1, open).changes.count == 1)
        #expect(others.saved(refused: [.alice]).answers.map(\.status) == [.tooManyMemberships])
        #expect(others.isEmpty == true)
    }

    @Test("a failure of the store answers storeUnavailable and keeps the records")
    func failure() {
        var memberships = RoomMemberships([.alice: MembershipRecord(isJoined: true, changedAt: 1)])
        memberships.append(call(.leave))
        #expect(memberships.beginSaving(at: 1, open).changes == [.alice: MembershipRecord?.none])
        #expect(memberships.saved(refused: nil).answers.map(\.status) == [.storeUnavailable])
        #expect(memberships[.alice]?.isJoined == true)
    }

    //
    @Test("a ban while a join is saved removes the record in the next save")
    func banDuringJoin() {
        var memberships = RoomMemberships()
        memberships.append(call(.join))
        _ = memberships.beginSaving(at: 1, open)
        memberships.noteRemoval(of: .alice)
        _ = memberships.saved(refused: [])
        #expect(memberships[.alice]?.isJoined == true)
        #expect(memberships.beginSaving(at: 2, open).changes == [.alice: MembershipRecord?.none])
        _ = memberships.saved(refused: [])
        #expect(memberships.isEmpty == true)
    }

    //
    @Test("a record counts from the invitation on, and the removal behind it is saved after it")
    func removalBehindInvitation() {
        var memberships = RoomMemberships()
        #expect(memberships.hasRecord(.bob) == false)
        memberships.noteInvitation(of: .bob, by: .alice)
        #expect(memberships.hasRecord(.bob) == true)
        memberships.noteRemoval(of: .bob)
        #expect(memberships.hasRecord(.bob) == false)
        let invited = MembershipRecord(isJoined: false, inviter: .alice, changedAt: 1)
        #expect(memberships.beginSaving(at: 1, open).changes == [.bob: invited])
        #expect(memberships.hasRecord(.bob) && memberships.isRemoving(.bob))
        _ = memberships.saved(refused: [])
        #expect(memberships.beginSaving(at: 2, open).changes == [.bob: MembershipRecord?.none])
        _ = memberships.saved(refused: [])
        #expect(memberships.isEmpty && !memberships.hasRecord(.bob))
    }

    //
    @Test("an invitation behind a removal is saved after it, and answers its request then")
    func invitationBehindRemoval() {
        var memberships = RoomMemberships([.bob: MembershipRecord(isJoined: true, changedAt: 1)])
        memberships.noteRemoval(of: .bob)
        let invitation = call(.invite(.bob))
        memberships.noteInvitation(of: .bob, by: .alice, answering: invitation)
        #expect(memberships.isRemoving(.bob) == true)
        #expect(memberships.beginSaving(at: 2, open).changes == [.bob: MembershipRecord?.none])
        #expect(memberships.saved(refused: []).answers.isEmpty)
        #expect(memberships[.bob] == nil && !memberships.isRemoving(.bob))
        let invited = MembershipRecord(isJoined: false, inviter: .alice, changedAt: 3)
        #expect(memberships.beginSaving(at: 3, open).changes == [.bob: invited])
        #expect(memberships.saved(refused: []).answers == [RoomMemberships.Answer(call: invitation, status: .none)])
        #expect(memberships[.bob] == invited && !memberships.isBusy)
    }

    //
    @Test("the end of the room fails an invitation that waits for its record")
    func endOfInvitation() {
        var memberships = RoomMemberships()
        memberships.noteInvitation(of: .bob, by: .alice, answering: call(.invite(.bob), 7))
        #expect(memberships.failAll().map(\.number) == [7])
        #expect(memberships.isBusy == false)
    }

    @Test("the end of the room fails the requests that wait and those that are saved")
    func ends() {
        var memberships = RoomMemberships()
        memberships.append(call(.join))
        _ = memberships.beginSaving(at: 1, open)
        memberships.append(call(.join, by: .bob, 2))
        #expect(memberships.failAll().map(\.number) == [1, 2])
        #expect(memberships.isBusy == false)
    }
}
