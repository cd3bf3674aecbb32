import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomModerationTests {
    private static let now = Instant(nanoseconds: 1_000_000_000)

    private func pending(
        _ number: UInt64, _ operation: RoomOperation = .setAccess(.closed), by actor: String = "alice"
    ) -> RoomModeration.Pending {
        let member = MemberKey(link: LinkKey(slot: 0, generation: 1), session: .first)
        return RoomModeration.Pending(
            number: number, member: member, actor: RoomScript.who(actor), permissions: .all, operation: operation)
    }

    private func moderation() -> RoomModeration {
        RoomModeration(RoomRolesConfiguration(), RoomRoles(owner: .alice), version: 0)
    }

    private let empty = RoomModeration.Change(roles: RoomRoles(owner: .alice))

    private func change(_ operations: RoomOperation...) -> RoomModeration.Change {
        var change = empty
        change.operations = operations.map { RoomModeration.Decided(operation: pending(0, $0), refusal: nil) }
        return change
    }

    @Test func `operations wait while roles are saved, and follow in their order`() {
        var moderation = moderation()
        for number in 1...3 as ClosedRange<UInt64> { #expect(moderation.append(pending(number)) == nil) }
        let first = moderation.next(after: empty, now: Self.now)
        #expect(first?.number == 1)
        moderation.save(RoomRoles(owner: .bob), for: .operations(change(.setAccess(.closed)).operations))
        #expect(moderation.next(after: empty, now: Self.now) == nil && moderation.isBusy)
        #expect(moderation.roles?[.alice] != nil && moderation.deadline == nil)
        guard case .operations(let cause)? = moderation.saved(true) else {
            Issue.record("no cause")
            return
        }
        #expect(cause.count == 1 && moderation.roles?[.bob] != nil && moderation.roles?[.alice] == nil)
        #expect(moderation.next(after: empty, now: Self.now)?.number == 2)
        #expect(moderation.next(after: empty, now: Self.now)?.number == 3)
        #expect(moderation.isBusy == false)
    }

    //
    @Test func `roles of another relay are held → operations wait for the messages before them, without a timer`() {
        var moderation = moderation()
        #expect(moderation.append(pending(1)) == nil)
        moderation.hold(RoomRoles(owner: .bob), version: 3, upTo: 8)
        #expect(moderation.next(after: empty, now: Self.now) == nil && moderation.deadline == nil)
        #expect(!moderation.takeHeld(upTo: 7) && moderation.roles?[.bob] == nil && moderation.version == 0)
        #expect(moderation.takeHeld(upTo: 8) && moderation.roles?[.bob] != nil && moderation.version == 3)
        #expect(moderation.next(after: empty, now: Self.now)?.number == 1 && !moderation.takeHeld(upTo: 9))
    }

    @Test func `roles that were not saved have no effect`() {
        var moderation = moderation()
        moderation.save(RoomRoles(owner: .bob), for: .operations([]))
        #expect(moderation.saved(false) != nil)
        #expect(moderation.roles?[.alice] != nil && !moderation.isSaving)
        #expect(moderation.saved(true) == nil)
    }

    //
    @Test func `a change takes operations on other accounts, and neither a kick nor an announcement`() {
        let change = change(.ban(.bob), .setAccess(.closed))
        for operation in [.ban(.carol), .invite(.alice)] as [RoomOperation] { #expect(change.takes(operation)) }
        let others: [RoomOperation] = [
            .unban(.bob), .setAccess(.open), .kick(.carol), .announce(MessageContent(text: "x")),
        ]
        for operation in others { #expect(!change.takes(operation) && empty.takes(operation)) }
    }

    // R-72, Specs/hostile.md row 66
    @Test func `row 66, after a save of long roles → changes wait for 100 ms, a kick does not`() {
        var moderation = moderation()
        let byteCount = RoomModeration.shortByteCount
        for (count, waits) in [(byteCount, false), (byteCount + 1, true)] {
            moderation.save(RoomRoles(owner: .alice), for: .operations([]), byteCount: count, now: Self.now)
            _ = moderation.saved(true)
            for operation in [.kick(.bob), .ban(.bob)] as [RoomOperation] {
                #expect(moderation.append(pending(1, operation)) == nil)
            }
            #expect(moderation.next(after: empty, now: Self.now)?.operation == .kick(.bob))
            let end = Self.now + .milliseconds(100)
            if waits {
                #expect(moderation.next(after: empty, now: end + .nanoseconds(-1)) == nil)
                #expect(moderation.deadline == end)
            }
            #expect(moderation.next(after: empty, now: waits ? end : Self.now)?.operation == .ban(.bob))
            #expect(moderation.deadline == nil)
        }
    }

    //
    @Test func `an operation costs one unit, and one more for each 16 KiB of roles`() throws {
        #expect(moderation().operationUnits == 1)
        let roles = try RoomScript.longRoles()
        let moderation = RoomModeration(RoomRolesConfiguration(), roles, version: 0)
        #expect(moderation.operationUnits == 1 + roles.byteCount / 16_384)
        #expect(roles.byteCount > 16_384)
    }

    //
    @Test func `more operations than the maximum are refused, of the room and of an account`() {
        var moderation = moderation()
        for number in 0..<RoomModeration.maxWaitingCount {
            #expect(moderation.append(pending(UInt64(number), by: "name\(number / 8)")) == nil)
            if number == 8 { #expect(moderation.append(pending(99, by: "name0")) == .tooManyOperations) }
        }
        #expect(moderation.append(pending(99)) == .busy)
        _ = moderation.next(after: empty, now: Self.now)
        #expect(moderation.append(pending(99, by: "name1")) == .tooManyOperations)
        #expect(moderation.append(pending(99, by: "name0")) == nil)
    }

    //
    @Test func `another decision about a device → its waiting operations have the new permissions, others do not`() {
        var moderation = moderation()
        for actor in ["alice", "bob"] { #expect(moderation.append(pending(1, by: actor)) == nil) }
        let permissions: RoomPermissions = [.publish]
        moderation.setPermissions(permissions, of: RoomScript.who("alice"))
        #expect(moderation.next(after: empty, now: Self.now)?.permissions == permissions)
        #expect(moderation.next(after: empty, now: Self.now)?.permissions == .all)
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
        #expect(moderation.append(pending(1)) == nil)
        #expect(moderation.byteCount > before)
        moderation.save(RoomRoles(owner: .bob), for: .operations(change(.ban(.bob)).operations))
        #expect(moderation.byteCount > 2 * before)
    }
}
