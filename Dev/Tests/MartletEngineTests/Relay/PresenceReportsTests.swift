import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct PresenceReportsTests {
    private func account(_ number: Int) -> AccountName { .named("member\(number)") }
    private func second(_ number: Int) -> Instant { .zero + .seconds(number) }

    //
    @Test func `an account that was reported repeatedly is returned once, in the place of its latest report`() {
        var reports = PresenceReports()
        for (number, account) in [AccountName.bob, .carol, .bob].enumerated() {
            reports.note(account, now: second(100 + number))
        }
        #expect(reports.accounts(since: second(0)) == [.bob, .carol])
        #expect(reports.accounts(since: second(102) + PresenceReports.overlap) == [.bob])
        #expect(reports.accounts(since: second(103) + PresenceReports.overlap).isEmpty)
    }

    //
    @Test func `beyond 256 accounts the oldest are discarded, however often one is reported`() {
        var reports = PresenceReports()
        for number in 0..<1000 { reports.note(account(number), now: second(number)) }
        for _ in 0..<1000 { reports.note(.bob, now: second(1000)) }
        #expect(reports.count <= 2 * PresenceReports.maxAccounts)
        let accounts = reports.accounts(since: .zero)
        #expect(accounts.count >= PresenceReports.maxAccounts)
        #expect(accounts.prefix(3) == [.bob, account(999), account(998)])
        reports.removeAll()
        #expect(reports.accounts(since: .zero).isEmpty && reports.count == 0)
    }
}
