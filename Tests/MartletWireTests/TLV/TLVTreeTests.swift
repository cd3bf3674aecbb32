import MartletWire
import Testing

@Suite struct TLVTreeTests {
    static let tree = TLVTree([
        TLVNode(Tag(rawValue: 0x7ABC), bytes: [1, 2]),
        TLVNode(
            .content,
            children: [
                TLVNode(.text, bytes: [0x68, 0x69]),
                TLVNode(Tag(rawValue: 0x01EE), children: [TLVNode(.data, bytes: [])]),
                TLVNode(Tag(rawValue: 0x81EE), children: []),
            ]),
        TLVNode(.spokenVersion, bytes: [1, 0]), TLVNode(.spokenVersion, bytes: [1, 1]),
    ])

    @Test func `a tree contains the fields of its bytes`() throws {
        let bytes = Self.tree.encode()
        #expect(
            bytes == [
                0x7A, 0xBC, 0, 0, 0, 2, 1, 2, 0x01, 0x42, 0, 0, 0, 26, 0x02, 0x01, 0, 0, 0, 2, 0x68, 0x69, 0x01, 0xEE,
                0, 0, 0, 6,
                0x02, 0x02, 0, 0, 0, 0, 0x81, 0xEE, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 1, 0, 0, 5, 0, 0, 0, 2, 1, 1,
            ])
        #expect(try TLVTree(parsing: bytes) == Self.tree)
        #expect(try TLVTree(parsing: []) == TLVTree())
    }

    @Test func `outermost fields are found by tag, in order`() {
        #expect(Self.tree[.spokenVersion] == [.bytes([1, 0]), .bytes([1, 1])])
        #expect(Self.tree[.text] == [])
    }

    @Test func `a body that the validator refuses gives no tree`() {
        let deep = TLVValidatorTests.nested(9)
        #expect(thrown { () throws(WireError) in try TLVTree(parsing: deep) } == .tlvTooDeep(limit: 8))
        let cut: [UInt8] = [0, 1, 0, 0, 0, 1]
        #expect(thrown { () throws(WireError) in try TLVTree(parsing: cut) } == .malformedTLV(offset: 0))
    }

    @Test(arguments: 0..<50)
    func `random trees equal their parsed encodings`(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let tree = TLVTree(Self.nodes(depth: 0, random: &random))
        let bytes = tree.encode()
        let parsed = try TLVTree(parsing: bytes)
        #expect(parsed == tree)
        #expect(parsed.encode() == bytes)
    }

    static func nodes(depth: Int, random: inout SeededRandom) -> [TLVNode] {
        (0..<Int.random(in: 0...(depth == 0 ? 10 : 3), using: &random)).map { _ in
            var number = UInt16.random(in: 0 ... .max, using: &random)
            if depth < 8, Bool.random(using: &random) { number = number & 0x80FF | 0x0100 }
            let tag = Tag(rawValue: number)
            if tag.isContainer, depth < 8 { return TLVNode(tag, children: nodes(depth: depth + 1, random: &random)) }
            return TLVNode(Tag(rawValue: number | 0x0200), bytes: random.bytes(Int.random(in: 0...40, using: &random)))
        }
    }
}
