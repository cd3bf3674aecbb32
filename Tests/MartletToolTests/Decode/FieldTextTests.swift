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

@Suite struct FieldValueTextTests {
    private func text(_ tag: MartletWire.Tag, _ bytes: [UInt8], secrets: Bool = false) -> String {
        FieldShape(tag).value(bytes, showingSecrets: secrets).text
    }

    @Test func `a value of each form → its text`() {
        #expect(text(.counter, [0, 0, 0, 0, 0, 0, 1, 0]) == "256")
        #expect(text(.link, [0, 0, 0, 0, 0, 0, 1, 0]) == "0x0000000000000100")
        #expect(text(.room, Array("den\u{1B}[2J".utf8)) == "\"den\u{FFFD}[2J\"")
        #expect(text(.code, [1, 7]) == "badChecksum")
        #expect(text(.status, [0xF0, 1]) == "0xF001")
        #expect(text(.kind, [0x10, 1]) == "text")
        #expect(text(.spokenVersion, [1, 2]) == "1.2")
        #expect(text(.features, [0, 0, 0, 0, 0, 0, 0, 0x75]) == "zlib, receipts, compact, sharedDeflate, attachments")
        #expect(text(.sessionKind, [2]) == "signaling")
        #expect(text(.receiptKind, [3]) == "refused")
        #expect(text(.presence, [2]) == "away")
        #expect(text(.echo, [0, 0, 0, 5, 0, 0, 0, 9]) == "timestamp 5, microseconds 9")
        #expect(text(.data, [1, 0xAB]) == "2 bytes 01ab")
        #expect(text(.chunk, [UInt8](repeating: 0, count: 15) + [9, 1]) == "offset 0, total 9, bytes 1 bytes 01")
    }

    @Test func `an acknowledgement with ranges → text and JSON`() throws {
        var writer = TLVWriter()
        let ack = SessionAck(session: SessionID(rawValue: 3), cumulative: 5, creditLimit: 9, ranges: [7...8])
        Ack(linkCredit: 1, sessions: [ack]).encode(into: &writer)
        let field = try FieldTree(parsing: writer.bytes).fields.last
        #expect(field?.value?.text == "session 3, cumulative 5, credit 9, ranges first 7, last 8")
        #expect(
            field?.value?.json.text
                == #"{"session":3,"cumulative":5,"credit":9,"ranges":[{"first":7,"last":8}]}"#)
    }

    @Test func `a secret → its length, or its bytes if secrets are shown`() {
        #expect(text(.credential, [1, 2]) == "2 bytes, not shown")
        #expect(text(.credential, [1, 2], secrets: true) == "2 bytes 0102")
        #expect(FieldShape(.resumeToken).value([1], showingSecrets: false).json == .null)
    }

    @Test func `a value of another form → bytes`() {
        for tag in MartletWire.Tag.registered where !tag.isContainer {
            for count in 0..<40 {
                let value = FieldShape(tag).value([UInt8](repeating: 0xFF, count: count), showingSecrets: true)
                #expect(!value.text.isEmpty)
                #expect(!value.json.text.isEmpty)
            }
        }
        #expect(text(.counter, [1, 2, 3]) == "3 bytes 010203")
        #expect(text(.room, [0xFF]) == "1 bytes ff")
        #expect(text(.sessionKind, [9]) == "1 bytes 09")
        #expect(text(.receiptKind, [0]) == "1 bytes 00")
    }
}
