import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Batches of changes of presence.
@Suite struct PresenceChangesTests {
    private let member = MemberKey(link: LinkKey(slot: 1, generation: 1), session: .first)
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func note(
        _ changes: inout PresenceChanges, _ name: String, _ before: Transient.Presence, _ after: Transient.Presence
    ) {
        changes.note(.named(name), from: before, to: after, of: member)
    }

    /// The accounts that are reported in one turn of a loop without other rooms.
    private func taken(_ changes: inout PresenceChanges, memberCount: Int, now: Instant) -> [String] {
        var budget = PresenceBudget()
        return changes.takeBatch(memberCount: memberCount, now: now, budget: &budget).map(\.account.text)
    }

    //
    @Test func `an account that changes back is not reported`() {
        var changes = PresenceChanges()
        note(&changes, "bob", .left, .online)
        note(&changes, "bob", .online, .away)
        note(&changes, "bob", .away, .left)
        #expect(changes.isEmpty && changes.deadline == nil)
        #expect(taken(&changes, memberCount: 2, now: start).isEmpty)
    }

    //
    @Test func `an account that changes twice is reported once, at the position of its first change`() {
        var changes = PresenceChanges()
        note(&changes, "bob", .left, .online)
        note(&changes, "carol", .left, .online)
        note(&changes, "bob", .online, .away)
        #expect(taken(&changes, memberCount: 2, now: start) == ["bob", "carol"])
        #expect(changes.isEmpty)
    }

    //
    @Test func `a batch has 16 accounts, in several turns in a large room, and after ten one follows in 100 ms`() {
        var changes = PresenceChanges()
        func fill() { for number in 0..<500 { note(&changes, "member\(number)", .left, .online) } }
        fill()
        #expect(taken(&changes, memberCount: 3, now: start).count == 16)
        for _ in 0..<8 { #expect(taken(&changes, memberCount: 256, now: start).count == 2) }
        for _ in 0..<8 { #expect(taken(&changes, memberCount: 3, now: start).count == 16) }
        #expect(taken(&changes, memberCount: 3, now: start).isEmpty)
        #expect(changes.deadline == start + .milliseconds(100))
        #expect(taken(&changes, memberCount: 3, now: start + .milliseconds(99)).isEmpty)
        #expect(taken(&changes, memberCount: 3, now: start + .milliseconds(100)).count == 16)
    }

    @Test func `changes that cancel each other leave no state`() {
        var changes = PresenceChanges()
        for number in 0..<10_000 {
            note(&changes, "member\(number % 10)", .left, .online)
            note(&changes, "member\(number % 10)", .online, .left)
        }
        note(&changes, "last", .left, .online)
        #expect(taken(&changes, memberCount: 3, now: start) == ["last"])
    }

    //
    @Test func `a room that grows beyond 256 members drops pending changes and their deadline`() {
        var script = RoomScript("alice")
        for number in 1...RoomMembers.maxPresenceCount { script.join("member\(number)") }
        // 16 join in a turn, and one further turn reports pending changes.
        for _ in 0...RoomMembers.maxPresenceCount / JoinQueue.maxPerTurn {
            _ = script.drainTurn()
            script.rooms.endTurn()
            script.rooms.deadlinePassed(now: script.now)
        }
        _ = script.drainTurn()
        #expect(script.rooms.rooms.read(0, { $0.members.count }) == RoomMembers.maxPresenceCount + 1)
        #expect(script.rooms.deadline == nil)
    }
}
