import MartletWire
import Testing

@testable import MartletDecode

@Suite struct FieldTreeTests {
    @Test func `nested fields → containers in front of their contents, with depths`() throws {
        var writer = TLVWriter()
        writer.append(.counter, uint64: 5)
        writer.container(.content) { $0.append(.text, string: "hi") }
        let fields = try FieldTree(parsing: writer.bytes).fields
        #expect(fields.map(\.name) == ["counter", "content", "text"])
        #expect(fields.map(\.depth) == [0, 0, 1])
        #expect(fields.map(\.value) == [.number(5), nil, .text("hi")])
    }

    @Test func `a tag of the registry inside content → its number, and bytes`() throws {
        var writer = TLVWriter()
        writer.container(.content) { $0.append(.counter, uint8: 1) }
        let field = try #require(try FieldTree(parsing: writer.bytes).fields.last)
        #expect(field.name == "0x0040")
        #expect(field.value == .bytes([1]))
    }

    @Test func `a body whose structure is wrong → malformedTLV`() {
        #expect(throws: WireError.malformedTLV(offset: 0)) { try FieldTree(parsing: [1, 2, 3]) }
    }
}
