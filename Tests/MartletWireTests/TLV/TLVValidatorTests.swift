import MartletWire
import Testing

@Suite struct TLVValidatorTests {
    static func error(_ bytes: [UInt8]) -> WireError? {
        thrown { () throws(WireError) in try TLVValidator.validate(bytes.rawBytes) }
    }

    /// `depth` containers, one in another, around `core`.
    static func nested(_ depth: Int, around core: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        for level in 0..<depth {
            bytes += [0x01, 0x42]
            bytes.append(bigEndian: UInt32(6 * (depth - level - 1) + core.count))
        }
        return bytes + core
    }

    @Test func `nothing, leaves and containers are fine`() {
        #expect(Self.error([]) == nil)
        #expect(Self.error([0, 1, 0, 0, 0, 1, 9]) == nil)
        #expect(Self.error(Self.nested(3, around: [0, 1, 0, 0, 0, 1, 9]) + [0, 2, 0, 0, 0, 0]) == nil)
        #expect(Self.error(Self.nested(2) + Self.nested(2)) == nil)
    }

    @Test func `an unknown container is walked, critical or not`() {
        #expect(Self.error([0x01, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == .malformedTLV(offset: 6))
        #expect(Self.error([0x81, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == .malformedTLV(offset: 6))
        #expect(Self.error([0x02, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == nil)
    }

    @Test func `depth is met exactly or exceeded by one`() {
        let leaf: [UInt8] = [0, 1, 0, 0, 0, 1, 9]
        #expect(Self.error(Self.nested(8, around: leaf)) == nil)
        #expect(Self.error(Self.nested(9)) == .tlvTooDeep(limit: 8))
        #expect(Self.error(Self.nested(9, around: leaf)) == .tlvTooDeep(limit: 8))
    }

    @Test func `ten thousand nested containers stop at the ninth`() {
        #expect(Self.error(Self.nested(10_000)) == .tlvTooDeep(limit: 8))
    }

    @Test func `depth counts from where the bytes lie`() throws {
        let bytes = Self.nested(3)
        var budget = 10
        try TLVValidator.validate(bytes.rawBytes, depth: 5, budget: &budget)
        #expect(budget == 7)
        let error = thrown { () throws(WireError) in
            try TLVValidator.validate(bytes.rawBytes, depth: 6, budget: &budget)
        }
        #expect(error == .tlvTooDeep(limit: 8))
    }

    @Test func `a million empty fields are refused by number`() {
        #expect(Self.error([UInt8](repeating: 0, count: 6_000_000)) == .tooManyTLVs(limit: 1024))
    }

    @Test func `the number counts all levels and is met exactly or exceeded by one`() {
        let empty = [UInt8](repeating: 0, count: 6 * 1020)
        #expect(Self.error(Self.nested(4, around: empty)) == nil)
        #expect(Self.error(Self.nested(5, around: empty)) == .tooManyTLVs(limit: 1024))
        #expect(Self.error(Self.nested(4, around: empty) + [0, 0, 0, 0, 0, 0]) == .tooManyTLVs(limit: 1024))
    }

    @Test func `a field may end beyond neither the body nor its container`() {
        let bytes = Self.nested(2, around: [0, 1, 0, 0, 0, 1, 9])
        for count in 1..<bytes.count {
            #expect(Self.error(Array(bytes[..<count])) == .malformedTLV(offset: 0))
        }
        #expect(Self.error([1, 1, 0, 0, 0, 7, 0, 1, 0, 0, 0, 2, 9, 9]) == .malformedTLV(offset: 6))
        #expect(Self.error([1, 1, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0]) == .malformedTLV(offset: 6))
        #expect(Self.error([0, 1, 0xFF, 0xFF, 0xFF, 0xFF]) == .malformedTLV(offset: 0))
    }
}
