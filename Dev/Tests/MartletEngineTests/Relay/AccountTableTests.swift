import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct AccountTableTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func link(_ slot: Int32) -> LinkKey { LinkKey(slot: slot, generation: 1) }

    @Test func `an account keeps its index while it has a link, and for the lifetime afterwards`() {
        var table = AccountTable()
        let alice = table.index(of: .alice, now: Self.start)
        table.addLink(link(1), of: alice)
        #expect(table.index(of: .alice, now: Self.start + .seconds(1000)) == alice)
        let ended = Self.start + .seconds(1000)
        table.removeLink(link(1), of: alice, now: ended)
        #expect(table.index(of: .alice, now: ended + AccountTable.lifetime + .nanoseconds(-1)) == alice)
        _ = table.index(of: .bob, now: ended + AccountTable.lifetime)
        #expect(table.find(.alice) == nil && table.count == 1)
    }

    // R-72, Specs/hostile.md row 66
    @Test func `row 66, units of operations beyond the burst → none until they are refilled, 100 a second`() {
        var table = AccountTable()
        let (alice, bob) = (table.index(of: .alice, now: Self.start), table.index(of: .bob, now: Self.start))
        table.spendOperation(AccountTable.operationsBurst, of: alice, now: Self.start)
        #expect(table.mayOperate(alice, now: Self.start) == true)
        table.spendOperation(100, of: alice, now: Self.start)
        #expect(table.mayOperate(alice, now: Self.start + .milliseconds(999)) == false)
        #expect(table.mayOperate(alice, now: Self.start + .seconds(1)) == true)
        #expect(table.mayOperate(bob, now: Self.start) == true)
    }

    @Test func `an account with a new link within the lifetime is not removed`() {
        var table = AccountTable()
        let alice = table.index(of: .alice, now: Self.start)
        table.addLink(link(1), of: alice)
        table.removeLink(link(1), of: alice, now: Self.start)
        table.addLink(link(2), of: table.index(of: .alice, now: Self.start + .seconds(30)))
        _ = table.index(of: .bob, now: Self.start + AccountTable.lifetime * 2)
        #expect(table.linkCount(alice) == 1 && table.find(.alice) == alice)
    }

    @Test func `accounts without links are bounded, and those idle for longest are removed first`() {
        var table = AccountTable()
        for number in 0...AccountTable.maxIdleCount {
            let place = table.index(of: .named("account-\(number)"), now: Self.start)
            table.addLink(link(1), of: place)
            table.removeLink(link(1), of: place, now: Self.start)
        }
        #expect(table.count <= AccountTable.maxIdleCount)
        #expect(table.find(.named("account-0")) == nil)
        #expect(table.find(.named("account-\(AccountTable.maxIdleCount)")) != nil)
    }

    // S-4, Specs/hostile.md row 44
    @Test func `an account opens 512 sessions at once and 66 a second, over all its links`() {
        var table = AccountTable()
        let alice = table.index(of: .alice, now: Self.start)
        let bob = table.index(of: .bob, now: Self.start)
        var opened = 0
        for _ in 0..<6 {
            table.addLink(link(1), of: alice)
            opened += (0..<100).count { _ in table.takeOpen(alice, now: Self.start) }
            table.removeLink(link(1), of: alice, now: Self.start)
        }
        #expect(opened == 512)
        let isOthersFree = table.takeOpen(bob, now: Self.start)
        #expect(isOthersFree)
        opened = (0..<100).count { _ in table.takeOpen(alice, now: Self.start + .seconds(1)) }
        #expect(opened == 66)
    }

    // S-59
    @Test func `the next link of an account has the lowest remaining rate of its ended links`() {
        var table = AccountTable()
        let alice = table.index(of: .alice, now: Self.start)
        var used = Link.unproductiveBucket
        _ = used.take(900, now: Self.start)
        table.noteUnproductive(used, of: alice)
        table.noteUnproductive(Link.unproductiveBucket, of: alice)
        var left = table.unproductive(alice)
        let count = (0..<1000).count { _ in left.take(now: Self.start) }
        #expect(count == 100)
    }

    @Test func `greediestSuspended is the oldest suspended link of the account with most of them`() {
        var table = AccountTable()
        let alice = table.index(of: .alice, now: Self.start)
        let bob = table.index(of: .bob, now: Self.start)
        #expect(table.oldestSuspendedOfLargest == nil)
        table.suspend(link(1), of: alice)
        table.suspend(link(2), of: bob)
        #expect(table.oldestSuspendedOfLargest == link(1))
        table.suspend(link(3), of: bob)
        #expect(table.oldestSuspendedOfLargest == link(2))
        table.unsuspend(link(2), of: bob)
        // Both have one; bob reached that number last.
        #expect(table.oldestSuspendedOfLargest == link(1))
        table.unsuspend(link(1), of: alice)
        #expect(table.oldestSuspendedOfLargest == link(3) && table.oldestSuspended(of: bob) == link(3))
        table.unsuspend(link(3), of: bob)
        table.unsuspend(link(3), of: bob)
        #expect(table.oldestSuspendedOfLargest == nil)
    }

    //
    @Test func `largestCrowd is the account with most sessions over all its links, above a minimum`() {
        var table = AccountTable()
        let counts: [(name: String, sessions: [Int])] = [("few", [4]), ("many", [3, 7, 2]), ("some", [5])]
        for (number, account) in counts.enumerated() {
            let place = table.index(of: .named(account.name), now: Self.start)
            for (index, count) in account.sessions.enumerated() {
                table.addLink(link(Int32(10 * number + index)), of: place)
                table.changeSessions(of: link(Int32(10 * number + index)), of: place, by: count)
            }
        }
        let largest = table.linkWithMostSessions(above: 4)
        #expect(largest?.link == link(11) && largest?.sessionCount == 12)
        for link in (10...12).map(link) { table.removeLink(link, of: 1, now: Self.start) }
        #expect(table.linkWithMostSessions(above: 4)?.sessionCount == 5)
        #expect(table.linkWithMostSessions(above: 5) == nil)
    }

    @Test func `an account without a link is removed after the lifetime`() {
        var table = AccountTable()
        _ = table.index(of: .alice, now: Self.start)
        _ = table.index(of: .bob, now: Self.start + AccountTable.lifetime)
        #expect(table.find(.alice) == nil && table.count == 1)
    }
}
