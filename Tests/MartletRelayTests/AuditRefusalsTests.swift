import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite struct AuditRefusalsTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let key = DeviceKey(account: AccountName("ada"), device: DeviceID(rawValue: 1))
    private var refusals = AuditRefusals()

    private func refusal(_ account: String, _ code: ErrorCode = .unauthenticated) -> AuditRecord {
        AuditRecord(.note(.link(.refused(AccountName(account)!, code)), peer: nil))!
    }

    /// Adds a record. Returns the accounts and the numbers of those to write.
    private mutating func add(_ record: AuditRecord, after seconds: Int) -> [String] {
        refusals.add(record, now: Self.start + .seconds(seconds)).map(text)
    }

    private func text(_ record: AuditRecord) -> String {
        "\(record.event) \(record.account?.text ?? "all") \(record.count)"
    }

    // Specs/hostile.md row 65
    @Test mutating func `row 65, refusals of an account → one record at once, then one in 10 s with their number`() {
        #expect(add(refusal("ada"), after: 0) == ["refused ada 1"])
        for second in 1...9 { #expect(add(refusal("ada"), after: second).isEmpty) }
        #expect(add(refusal("bob"), after: 9) == ["refused bob 1"])
        #expect(add(refusal("ada", .serverBusy), after: 10) == ["refused ada 9"])
        #expect(add(refusal("ada"), after: 19).isEmpty)
        let last = refusals.add(refusal("bob"), now: Self.start + .seconds(20))
        #expect(last.map(text) == ["refused ada 2", "refused bob 1"])
        #expect(last[0].code == .unauthenticated)
        #expect(refusals.finish().isEmpty)
    }

    // Specs/hostile.md row 65
    @Test mutating func `row 65, sign-ins, changes and revocations between refusals → each at once`() throws {
        #expect(add(refusal("ada"), after: 0) == ["refused ada 1"])
        #expect(add(refusal("ada"), after: 1).isEmpty)
        let signIn = try #require(AuditRecord(.note(.link(.linked(Self.key, LinkID(rawValue: 1))), peer: nil)))
        let operation = RoomOperationRecord(
            .ban(AccountName("bob")), by: Self.key, in: RoomName("lobby"), ErrorCode.none)
        let change = try #require(AuditRecord(.note(.roomOperation(operation), peer: nil)))
        let revocation = try #require(AuditRecord(.revoked(Self.key.account)))
        for record in [signIn, signIn, change, change, revocation] {
            #expect(refusals.add(record, now: Self.start + .seconds(1)) == [record])
        }
        #expect(refusals.finish().map(text) == ["refused ada 1"])
        #expect(refusals.finish().isEmpty)
    }

    @Test mutating func `an account without refusals for 10 s → its next one is written at once`() {
        #expect(add(refusal("ada"), after: 0) == ["refused ada 1"])
        #expect(add(refusal("ada"), after: 10) == ["refused ada 1"])
    }

    // Specs/hostile.md row 65
    @Test mutating func `row 65, refusals under more than 1,024 names → those of further names are counted together`() {
        for number in 0..<AuditRefusals.maxAccountCount {
            #expect(add(refusal("name\(number)"), after: 0).count == 1)
        }
        #expect(add(refusal("other"), after: 0) == ["refused other 1"])
        for number in 0..<5000 { #expect(add(refusal("more\(number)"), after: 0).isEmpty) }
        #expect(refusals.finish().map(text) == ["refused all 5000"])
    }
}
