import MartletWire
import Testing

@testable import MartletTool

@Suite struct DecoderTests {
    private let heard = Heard()
    private let ping = frame(.ping(Ping(nonce: 7)))

    private func decode(_ bytes: [UInt8], _ options: Decoder.Options = Decoder.Options()) throws(CaptureError) {
        let decoder = Decoder(options, heard.hear)
        for byte in bytes { try decoder.feed([byte]) }
        try decoder.finish()
    }

    private var packets: [[UInt8]] {
        var connection = SyntheticTCP(from: Packets.client, to: Packets.server, seed: 1)
        return connection.open() + connection.send(frame(Handshake.hello()).rawBytes, from: 0)
    }

    @Test func `the first bytes tell what the input is`() throws {
        try decode(ping)
        try decode(Array("8d4d5254 0100 3001 00000000 00000000 08 00 0000 0000000e 6acec6a7".utf8))
        #expect(heard.frames.count == 1)
        #expect(heard.faults == ["unexpectedEOF at 0"])
        try decode(Packets.pcap(packets))
        #expect(heard.frames.count == 2)
        try decode([0, 1, 2, 3, 4])
        #expect(heard.faults.last == "badMagic at 0")
        try decode([])
        try decode([0x8D])
        #expect(heard.faults.last == "unexpectedEOF at 0")
        #expect(heard.frames.count == 2)
    }

    @Test func `a format that was asked for`() throws {
        var options = Decoder.Options(format: .raw)
        try decode(Array("8d4d".utf8), options)
        #expect(heard.faults == ["badMagic at 0"])
        options.format = .pcap
        #expect(throws: CaptureError(place: "at byte 0", problem: "this is neither pcap nor pcapng")) {
            try decode(ping, options)
        }
        options.format = .hex
        #expect(throws: CaptureError.self) { try decode(ping, options) }
    }

    @Test func `a sender that was told`() throws {
        try decode(ping, Decoder.Options(sender: .server))
        #expect(heard.frames.map(\.place.sender) == [.server])
        try decode(ping)
        #expect(heard.frames.last?.place.sender == nil)
    }

    @Test func `a capture that ends inside a packet gives what is there, and says so`() throws {
        try decode(Packets.pcap(packets + [[1, 2, 3]]).dropLast(2))
        #expect(heard.frames.count == 1)
        #expect(heard.notes.last == "the capture ends inside a packet")
    }

    @Test func `a body that is longer than is believed`() throws {
        try decode(ping, Decoder.Options(bodyByteCount: 13))
        #expect(heard.faults == ["frameTooLarge at 0"])
    }
}
