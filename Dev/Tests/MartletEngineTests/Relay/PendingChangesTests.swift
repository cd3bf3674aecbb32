import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct PendingChangesTests {
    private func account(_ number: Int) -> AccountName { .named("reader\(number)") }

    //
    @Test func `an account whose receipts rise repeatedly has one entry, in the order of the first receipts`() {
        var changes = PendingChanges()
        #expect(changes.isEmpty)
        changes.note(.read, of: .bob, on: DeviceID(rawValue: 1))
        changes.note(.delivered, of: .carol, on: DeviceID(rawValue: 1))
        for device in UInt64(1)...1000 { changes.note(.delivered, of: .bob, on: DeviceID(rawValue: device)) }
        #expect(changes.accountCount == 2)
        let first = changes.popMarks()
        #expect(first?.account == .bob)
        #expect(first?.marks.read?.device == DeviceID(rawValue: 1))
        #expect(first?.marks.delivered?.device == DeviceID(rawValue: 1000))
        let second = changes.popMarks()
        #expect(second?.account == .carol)
        #expect(second?.marks.delivered != nil && second?.marks.read == nil)
        #expect(changes.isEmpty)
    }

    //
    @Test func `receipts of the 1,025th account are omitted, and those of the others still rise`() {
        var changes = PendingChanges()
        for number in 0...PendingChanges.maxAccounts { changes.note(.delivered, of: account(number), on: nil) }
        #expect(changes.accountCount == PendingChanges.maxAccounts)
        changes.note(.read, of: account(0), on: nil)
        let first = changes.popMarks()
        #expect(first?.account == account(0) && first?.marks.read != nil)
        changes.note(.read, of: account(PendingChanges.maxAccounts), on: nil)
        #expect(changes.accountCount == PendingChanges.maxAccounts)
    }

    //
    @Test func `accounts with pending presence leave in order, each once, and count as accounts`() {
        var changes = PendingChanges()
        changes.note(presenceOf: [.bob, .carol])
        changes.note(presenceOf: [.carol])
        #expect(changes.hasPresence && !changes.hasReliable && !changes.isEmpty)
        #expect(changes.accountCount == 2)
        let accounts = [changes.popPresence(), changes.popPresence(), changes.popPresence()]
        #expect(accounts == [AccountName.bob, AccountName.carol, nil])
        #expect(changes.isEmpty && changes.accountCount == 0)
    }

    @Test func `cancels leave in the order of their arrival`() {
        var changes = PendingChanges()
        for number in [3, 1, 2] as [UInt64] { changes.note(cancel: number) }
        #expect(changes.cancelCount == 3 && !changes.isEmpty)
        #expect((1...4).map { _ in changes.popCancel() } == [3, 1, 2, nil])
    }
}
