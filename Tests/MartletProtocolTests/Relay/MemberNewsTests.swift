import MartletWire
import Testing

@testable import MartletProtocol

/// What waits for a member until its link has room.
@Suite struct MemberNewsTests {
    private func account(_ number: Int) -> AccountName { .named("reader\(number)") }

    //
    @Test func `marks of an account that rise again and again are in it once, in the order of the first`() {
        var news = MemberNews()
        #expect(news.isEmpty)
        news.note(.read, of: .bob, on: DeviceID(rawValue: 1))
        news.note(.delivered, of: .carol, on: DeviceID(rawValue: 1))
        for device in UInt64(1)...1000 { news.note(.delivered, of: .bob, on: DeviceID(rawValue: device)) }
        #expect(news.accountCount == 2)
        let first = news.popMarks()
        #expect(first?.account == .bob)
        #expect(first?.marks.read?.device == DeviceID(rawValue: 1))
        #expect(first?.marks.delivered?.device == DeviceID(rawValue: 1000))
        let second = news.popMarks()
        #expect(second?.account == .carol)
        #expect(second?.marks.delivered != nil && second?.marks.read == nil)
        #expect(news.isEmpty)
    }

    //
    @Test func `with marks of 1,024 accounts one more account is left out and those that wait still rise`() {
        var news = MemberNews()
        for number in 0...MemberNews.maxAccounts { news.note(.delivered, of: account(number), on: nil) }
        #expect(news.accountCount == MemberNews.maxAccounts)
        news.note(.read, of: account(0), on: nil)
        let first = news.popMarks()
        #expect(first?.account == account(0) && first?.marks.read != nil)
        // There is a place again.
        news.note(.read, of: account(MemberNews.maxAccounts), on: nil)
        #expect(news.accountCount == MemberNews.maxAccounts)
    }

    @Test func `withdrawn requests leave in the order in which they came`() {
        var news = MemberNews()
        for number in [3, 1, 2] as [UInt64] { news.note(withdrawn: number) }
        #expect(news.withdrawnCount == 3 && !news.isEmpty)
        #expect((1...4).map { _ in news.popWithdrawn() } == [3, 1, 2, nil])
    }
}
