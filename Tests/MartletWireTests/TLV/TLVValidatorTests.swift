import MartletWire
import Testing

@Suite struct TLVValidatorTests {
    static func error(_ bytes: [UInt8]) -> WireError? {
        thrown { () throws(WireError) in try TLVValidator.validate(bytes.rawBytes) }
    }

    /// Returns `depth` nested containers around `core`.
    static func nested(_ depth: Int, around core: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        for level in 0..<depth {
            bytes += [0x01, 0x42]
            bytes.append(bigEndian: UInt32(6 * (depth - level - 1) + core.count))
        }
        return bytes + core
    }

    @Test func `an empty body, leaves and containers are accepted`() {
        #expect(Self.error([]) == nil)
        #expect(Self.error([0, 1, 0, 0, 0, 1, 9]) == nil)
        #expect(Self.error(Self.nested(3, around: [0, 1, 0, 0, 0, 1, 9]) + [0, 2, 0, 0, 0, 0]) == nil)
        #expect(Self.error(Self.nested(2) + Self.nested(2)) == nil)
    }

    @Test func `the structure of unknown containers is validated, critical or not`() {
        #expect(Self.error([0x01, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == .malformedTLV(offset: 6))
        #expect(Self.error([0x81, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == .malformedTLV(offset: 6))
        #expect(Self.error([0x02, 0xEE, 0, 0, 0, 3, 1, 2, 3]) == nil)
    }

    // W-27
    @Test func `the maximum depth is accepted, one more is refused`() {
        let leaf: [UInt8] = [0, 1, 0, 0, 0, 1, 9]
        #expect(Self.error(Self.nested(8, around: leaf)) == nil)
        #expect(Self.error(Self.nested(9)) == .tlvTooDeep(limit: 8))
        #expect(Self.error(Self.nested(9, around: leaf)) == .tlvTooDeep(limit: 8))
    }

    // W-27
    @Test func `ten thousand nested containers are refused at the ninth`() {
        #expect(Self.error(Self.nested(10_000)) == .tlvTooDeep(limit: 8))
    }

    @Test func `the depth includes the enclosing containers`() throws {
        let bytes = Self.nested(3)
        var budget = 10
        try TLVValidator.validate(bytes.rawBytes, depth: 5, budget: &budget)
        #expect(budget == 7)
        let error = thrown { () throws(WireError) in
            try TLVValidator.validate(bytes.rawBytes, depth: 6, budget: &budget)
        }
        #expect(error == .tlvTooDeep(limit: 8))
    }

    @Test func `a million empty fields are refused by their number`() {
        #expect(Self.error([UInt8](repeating: 0, count: 6_000_000)) == .tooManyTLVs(limit: 1024))
    }

    // W-27
    @Test func `the number includes all levels, and one beyond the maximum is refused`() {
        let empty = [UInt8](repeating: 0, count: 6 * 1020)
        #expect(Self.error(Self.nested(4, around: empty)) == nil)
        #expect(Self.error(Self.nested(5, around: empty)) == .tooManyTLVs(limit: 1024))
        #expect(Self.error(Self.nested(4, around: empty) + [0, 0, 0, 0, 0, 0]) == .tooManyTLVs(limit: 1024))
    }

    // W-24
    @Test func `a field beyond its body or container is refused`() {
        let bytes = Self.nested(2, around: [0, 1, 0, 0, 0, 1, 9])
        for count in 1..<bytes.count {
            #expect(Self.error(Array(bytes[..<count])) == .malformedTLV(offset: 0))
        }
        #expect(Self.error([1, 1, 0, 0, 0, 7, 0, 1, 0, 0, 0, 2, 9, 9]) == .malformedTLV(offset: 6))
        #expect(Self.error([1, 1, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0]) == .malformedTLV(offset: 6))
        #expect(Self.error([0, 1, 0xFF, 0xFF, 0xFF, 0xFF]) == .malformedTLV(offset: 0))
    }

    @Test func `the result for random bodies equals that of a recursive validator`() {
        var random = SeededRandom(seed: 8)
        var fineCount = 0
        for _ in 0..<3000 {
            var bytes = TLVTree(TLVTreeTests.nodes(depth: 0, random: &random)).encode()
            if !bytes.isEmpty, Bool.random(using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...9, using: &random)
            }
            let byRecursion = thrown { () throws(WireError) in
                var budget = TLVLimits.maxCount
                try Self.walk(bytes.rawBytes, depth: 0, budget: &budget)
            }
            #expect(Self.error(bytes)?.code == byRecursion?.code)
            fineCount += byRecursion == nil ? 1 : 0
        }
        #expect((1000...2900).contains(fineCount))
    }

    /// Validates TLVs by recursion, as a reference.
    static func walk(_ bytes: RawSpan, depth: Int, budget: inout Int) throws(WireError) {
        var rest = bytes
        var reader = TLVReader(rest, budget: budget)
        while let field = try reader.next() {
            guard field.tag.isContainer else { continue }
            if depth == TLVLimits.maxDepth { throw .tlvTooDeep(limit: depth) }
            var left = reader.budget
            try walk(field.value, depth: depth + 1, budget: &left)
            rest = rest.extracting(droppingFirst: reader.offset)
            reader = TLVReader(rest, budget: left)
        }
        budget = reader.budget
    }
}
