import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RoomModerationTests {
    private func pending(_ number: UInt64) -> RoomModeration.Pending {
        RoomModeration.Pending(
            number: number, actor: RoomScript.who("alice"), permissions: .all, operation: .setAccess(.closed))
    }

    private func moderation() -> RoomModeration { RoomModeration(RoomRolesConfiguration(), RoomRoles(owner: .alice)) }

    @Test func `operations wait while roles are saved, and follow in their order`() {
        var moderation = moderation()
        for number in 1...3 as ClosedRange<UInt64> { #expect(moderation.append(pending(number)) == true) }
        let first = moderation.next()
        #expect(first?.number == 1)
        moderation.save(RoomRoles(owner: .bob), for: .operation(pending(1)))
        #expect(moderation.next() == nil && moderation.isBusy)
        #expect(moderation.roles?[.alice] != nil)
        guard case .operation(let cause)? = moderation.saved(true) else {
            Issue.record("no cause")
            return
        }
        #expect(cause.number == 1 && moderation.roles?[.bob] != nil && moderation.roles?[.alice] == nil)
        #expect(moderation.next()?.number == 2)
        #expect(moderation.next()?.number == 3)
        #expect(!moderation.isBusy)
    }

    @Test func `roles that were not saved have no effect`() {
        var moderation = moderation()
        moderation.save(RoomRoles(owner: .bob), for: .operation(pending(1)))
        #expect(moderation.saved(false) != nil)
        #expect(moderation.roles?[.alice] != nil && !moderation.isSaving)
        #expect(moderation.saved(true) == nil)
    }

    //
    @Test func `more operations than the maximum are refused`() {
        var moderation = moderation()
        for number in 0..<RoomModeration.maxWaitingCount { #expect(moderation.append(pending(UInt64(number))) == true) }
        #expect(moderation.append(pending(99)) == false)
        _ = moderation.next()
        #expect(moderation.append(pending(99)) == true)
    }

    @Test func `announcements are taken up to the durable offset`() {
        var moderation = moderation()
        moderation.announce(pending(1), at: 4)
        moderation.announce(pending(2), at: 7)
        #expect(moderation.takeAnnounced(upTo: 3).isEmpty)
        #expect(moderation.takeAnnounced(upTo: 6).map(\.number) == [1])
        var check = QuiescenceCheck("room")
        moderation.check(&check)
        #expect(check.faults == ["room: 1 announcements that are not durable"])
        #expect(moderation.takeAnnounced(upTo: .max).map(\.number) == [2])
    }

    @Test func `memory counts roles, and operations that wait`() {
        var moderation = moderation()
        let before = moderation.byteCount
        #expect(before > 0)
        #expect(moderation.append(pending(1)) == true)
        #expect(moderation.byteCount > before)
        moderation.save(RoomRoles(owner: .bob), for: .operation(pending(1)))
        #expect(moderation.byteCount > 2 * before)
    }
}
