import MartletWire
import Testing

@Suite("Limits")
struct LimitsTests {
    /// The fields of the minimum `limits`.
    private static let least: [Field] = [
        Field(.maxBody, 17_408 as UInt32), Field(.maxMessage, 16_384 as UInt32), Field(.linkWindow, 17_408 as UInt32),
        Field(.sessionWindow, 17_408 as UInt32), Field(.maxSessions, 1 as UInt16),
    ]

    /// Parses a hello whose `limits` contain these fields.
    private func parse(_ limits: [Field]) throws -> Limits {
        let container = Field(.limits, holding: limits)
        return try Hello(fields(of: HelloTests.full.encode()).map { $0.tag == .limits ? container : $0 }).limits
    }

    @Test("default limits have these values")
    func defaults() {
        let limits = Limits()
        #expect(limits.maxBodyByteCount == 65_536)
        #expect(limits.maxMessageByteCount == 1_048_576)
        #expect(limits.linkWindow == 1_048_576)
        #expect(limits.sessionWindow == 262_144)
        #expect(limits.maxSessions == 255)
    }

    @Test("the minimum limits are accepted")
    func minimum() throws {
        #expect(try parse(Self.least) == .minimum)
    }

    // W-42
    @Test("a limit one below its minimum is refused", arguments: least.indices)
    func belowMinimum(_ index: Int) throws {
        var limits = Self.least
        limits[index].value[limits[index].value.count - 1] &-= 1
        if limits[index].tag != .maxSessions { limits[index].value[2] &-= 1 }
        #expect(throws: WireError.invalidValue(limits[index].tag)) { try parse(limits) }
    }

    @Test("a peer's limits are accepted up to the width of their fields")
    func widest() throws {
        let wide = try parse(Self.least.map { Field($0.tag, Array(repeating: 0xFF, count: $0.value.count)) })
        #expect(wide.maxBodyByteCount == Int(UInt32.max))
        #expect(wide.maxSessions == Int(UInt16.max))
        #expect(wide.negotiated(with: Limits()) == Limits())
    }

    @Test("a missing, repeated or wrongly sized limit is refused", arguments: least.indices)
    func required(_ index: Int) throws {
        let field = Self.least[index]
        let others = Self.least.filter { $0 != field }
        #expect(throws: WireError.missingField(field.tag)) { try parse(others) }
        #expect(throws: WireError.duplicateField(field.tag)) { try parse(Self.least + [field]) }
        #expect(throws: WireError.invalidValue(field.tag)) { try parse(others + [Field(field.tag, field.value + [0])]) }
    }

    @Test("an unknown tag is skipped, an unknown critical one is refused")
    func unknown() throws {
        #expect(try parse(Self.least + [Field(.unknown, [1])]) == .minimum)
        #expect(throws: WireError.unknownCriticalTag(.unknownCritical)) {
            try parse(Self.least + [Field(.unknownCritical, [])])
        }
    }

    // W-42
    @Test("negotiation gives the lower value of each limit in both directions")
    func negotiation() {
        let one = Limits(maxBodyByteCount: 20_000, maxMessageByteCount: 1 << 21, maxSessions: 9)
        let other = Limits(linkWindow: 30_000, sessionWindow: 20_000)
        let both = Limits(
            maxBodyByteCount: 20_000, maxMessageByteCount: 1 << 20, linkWindow: 30_000, sessionWindow: 20_000,
            maxSessions: 9)
        #expect(one.negotiated(with: other) == both)
        #expect(other.negotiated(with: one) == both)
        #expect(one.negotiated(with: .minimum) == .minimum)
    }
}
