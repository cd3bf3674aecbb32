import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct AccountTableTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func link(_ slot: Int32) -> LinkKey { LinkKey(slot: slot, generation: 1) }

    @Test func `an account keeps its place while it has a link and for the lifetime after its last one`() {
        var table = AccountTable()
        let alice = table.place(of: .alice, now: Self.start)
        table.addLink(alice)
        #expect(table.place(of: .alice, now: Self.start + .seconds(1000)) == alice)
        let ended = Self.start + .seconds(1000)
        table.removeLink(alice, now: ended)
        #expect(table.place(of: .alice, now: ended + AccountTable.lifetime + .nanoseconds(-1)) == alice)
        _ = table.place(of: .bob, now: ended + AccountTable.lifetime)
        #expect(table.find(.alice) == nil && table.count == 1)
    }

    @Test func `an account that begins a link again before the lifetime is over is not forgotten`() {
        var table = AccountTable()
        let alice = table.place(of: .alice, now: Self.start)
        table.addLink(alice)
        table.removeLink(alice, now: Self.start)
        table.addLink(table.place(of: .alice, now: Self.start + .seconds(30)))
        _ = table.place(of: .bob, now: Self.start + AccountTable.lifetime * 2)
        #expect(table.linkCount(alice) == 1 && table.find(.alice) == alice)
    }

    @Test func `accounts without links are bounded, and those idle for longest are forgotten first`() {
        var table = AccountTable()
        for number in 0...AccountTable.maxIdleCount {
            let place = table.place(of: .named("account-\(number)"), now: Self.start)
            table.addLink(place)
            table.removeLink(place, now: Self.start)
        }
        #expect(table.count <= AccountTable.maxIdleCount)
        #expect(table.find(.named("account-0")) == nil)
        #expect(table.find(.named("account-\(AccountTable.maxIdleCount)")) != nil)
    }

    @Test func `the account with most suspended links is named by its oldest one`() {
        var table = AccountTable()
        let alice = table.place(of: .alice, now: Self.start)
        let bob = table.place(of: .bob, now: Self.start)
        #expect(table.greediestSuspended == nil)
        table.suspend(link(1), of: alice)
        table.suspend(link(2), of: bob)
        #expect(table.greediestSuspended == link(1))
        table.suspend(link(3), of: bob)
        #expect(table.greediestSuspended == link(2))
        table.unsuspend(link(2), of: bob)
        // Both have one; bob came to that number last.
        #expect(table.greediestSuspended == link(1))
        table.unsuspend(link(1), of: alice)
        #expect(table.greediestSuspended == link(3) && table.oldestSuspended(of: bob) == link(3))
        table.unsuspend(link(3), of: bob)
        table.unsuspend(link(3), of: bob)
        #expect(table.greediestSuspended == nil)
    }
}
