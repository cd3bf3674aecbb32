import MartletWire
import Testing

@Suite("Limits")
struct LimitsTests {
    /// The fields of `limits` as the protocol's minimum has them.
    private static let least: [Field] = [
        Field(.maxBody, 17_408 as UInt32), Field(.maxMessage, 16_384 as UInt32), Field(.linkWindow, 17_408 as UInt32),
        Field(.sessionWindow, 17_408 as UInt32), Field(.maxSessions, 1 as UInt16),
    ]

    /// Reads a hello whose `limits` hold these fields.
    private func parse(_ limits: [Field]) throws -> Limits {
        let container = Field(.limits, holding: limits)
        return try Hello(fields(of: HelloTests.full.encode()).map { $0.tag == .limits ? container : $0 }).limits
    }

    @Test("offer these when nothing else is said")
    func defaults() {
        let limits = Limits()
        #expect(limits.maxBodyByteCount == 65_536)
        #expect(limits.maxMessageByteCount == 1_048_576)
        #expect(limits.linkWindow == 1_048_576)
        #expect(limits.sessionWindow == 262_144)
        #expect(limits.maxSessions == 255)
    }

    @Test("at the protocol's minimum are taken")
    func minimum() throws {
        #expect(try parse(Self.least) == .minimum)
    }

    // W-42
    @Test("one below the minimum are refused", arguments: least.indices)
    func belowMinimum(_ index: Int) throws {
        var limits = Self.least
        limits[index].value[limits[index].value.count - 1] &-= 1
        if limits[index].tag != .maxSessions { limits[index].value[2] &-= 1 }
        #expect(throws: WireError.invalidValue(limits[index].tag)) { try parse(limits) }
    }

    @Test("of a peer may be as wide as their fields")
    func widest() throws {
        let wide = try parse(Self.least.map { Field($0.tag, Array(repeating: 0xFF, count: $0.value.count)) })
        #expect(wide.maxBodyByteCount == Int(UInt32.max))
        #expect(wide.maxSessions == Int(UInt16.max))
        #expect(wide.negotiated(with: Limits()) == Limits())
    }

    @Test("must all be there, once, of their length", arguments: least.indices)
    func required(_ index: Int) throws {
        let field = Self.least[index]
        let others = Self.least.filter { $0 != field }
        #expect(throws: WireError.missingField(field.tag)) { try parse(others) }
        #expect(throws: WireError.duplicateField(field.tag)) { try parse(Self.least + [field]) }
        #expect(throws: WireError.invalidValue(field.tag)) { try parse(others + [Field(field.tag, field.value + [0])]) }
    }

    @Test("pass over what they do not know, unless it is critical")
    func unknown() throws {
        #expect(try parse(Self.least + [Field(.unknown, [1])]) == .minimum)
        #expect(throws: WireError.unknownCriticalTag(.unknownCritical)) {
            try parse(Self.least + [Field(.unknownCritical, [])])
        }
    }

    // W-42
    @Test("negotiated are the lower of each, whoever asks")
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
