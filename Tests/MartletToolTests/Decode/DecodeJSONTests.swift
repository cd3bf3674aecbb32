import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct DecodeJSONTests {
    @Test func `a frame → an object with its members in order`() {
        let value = Frame.ping(Ping(nonce: 1))
        let header = FrameHeader(
            type: .ping, timestamp: 5, flags: FrameFlags([.checksummed], priority: .high), bodyByteCount: 14,
            checksum: 77)
        let frame = DecodedFrame(
            position: StreamPosition(connection: 1, sender: .server, offset: 3, time: 1_234_567), header: header,
            body: value.encode(), content: .frame(value))
        #expect(
            DecodeJSON.line(.frame(frame), showingSecrets: false).text == """
                {"event":"frame","time":1234,"connection":1,"from":"server","offset":3,"type":"ping",\
                "typeNumber":12289,"version":"1.0","session":0,"timestamp":5,"flags":["checksummed"],\
                "priority":"high","compression":"none","length":14,"checksum":77,"sequence":null,"room":null,\
                "content":"whole","again":false,"missing":0,"fragments":1,"bytes":14,\
                "fields":[{"tag":51,"name":"nonce","length":8,"value":"0x0000000000000001"}]}
                """)
    }

    @Test func `fragments and refused frames → objects with further members`() {
        var frame = DecodedFrame(
            position: StreamPosition(), header: FrameHeader(type: .data), body: [], content: .fragment(2))
        #expect(DecodeJSON.line(.frame(frame), showingSecrets: false)["fragment"] == .integer(2))
        #expect(DecodeJSON.line(.frame(frame), showingSecrets: false)["fields"] == nil)
        frame.content = .refused(DecodeFault(.missingField(.counter)))
        let error = DecodeJSON.line(.frame(frame), showingSecrets: false)["error"]
        #expect(error?.text == #"{"code":"missingField","number":1026,"text":"counter is missing","at":null}"#)
    }

    @Test func `faults and notes → objects with their members`() {
        let fault = DecodeFault(.malformedTLV(offset: 4)).of(FrameHeader(type: .ping))
        let line = DecodeJSON.line(.fault(StreamPosition(offset: 9), fault), showingSecrets: false)
        #expect(line["event"] == .string("fault"))
        #expect(line["offset"] == .integer(9))
        #expect(line["error"]?["at"] == .integer(4))
        #expect(line["type"] == .string("ping"))
        #expect(
            DecodeJSON.line(.note(StreamPosition(), "so"), showingSecrets: false).text
                == #"{"event":"note","time":null,"connection":1,"from":null,"offset":0,"text":"so"}"#)
    }
}
