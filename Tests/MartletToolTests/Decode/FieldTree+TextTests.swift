import MartletToolSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct FieldTreeTextTests {
    private let body: [UInt8] = {
        var writer = TLVWriter()
        writer.append(.counter, uint64: 5)
        writer.container(.content) { content in
            content.append(.text, string: "hi")
            content.append(.counter, uint8: 1)
            content.container(MartletWire.Tag(rawValue: 0x0150)) { $0.append(.name, string: "a") }
        }
        writer.append(MartletWire.Tag(rawValue: 0x4001), bytes: [1])
        return writer.bytes
    }()

    @Test func `a tree → a line for each field, indented by its depth`() throws {
        #expect(
            try FieldTree(parsing: body).lines == [
                "0x0040 counter: 5", "0x0142 content", "  0x0201 text: \"hi\"", "  0x0040: 1 bytes 01", "  0x0150",
                "    0x0203 name: \"a\"", "0x4001: 1 bytes 01",
            ])
    }

    @Test func `a tree → JSON with a list for each container`() throws {
        #expect(
            try FieldTree(parsing: body).json.text == """
                [{"tag":64,"name":"counter","length":8,"value":5},\
                {"tag":322,"name":"content","length":28,"fields":[\
                {"tag":513,"name":"text","length":2,"value":"hi"},{"tag":64,"name":"0x0040","length":1,"value":"01"},\
                {"tag":336,"name":"0x0150","length":7,"fields":[{"tag":515,"name":"name","length":1,"value":"a"}]}]},\
                {"tag":16385,"name":"0x4001","length":1,"value":"01"}]
                """)
    }
}
