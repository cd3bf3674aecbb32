import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct DecoderTests {
    private let heard = Heard()
    private let ping = frame(.ping(Ping(nonce: 7)))

    private func decode(_ bytes: [UInt8], _ options: Decoder.Options = Decoder.Options()) throws(InputError) {
        let decoder = Decoder(options, onEvent: heard.hear)
        for byte in bytes { try decoder.feed([byte]) }
        try decoder.finish()
    }

    private var packets: [[UInt8]] {
        [
            Packets.ipv4([], flags: .syn),
            Packets.ipv4([], from: Packets.server, to: Packets.client, flags: [.syn, .ack]),
            Packets.ipv4([], sequence: 2), Packets.ipv4(frame(Handshake.hello()), sequence: 2),
        ]
    }

    @Test func `first bytes of each format → that format`() throws {
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

    @Test func `a format option → that format, or an error`() throws {
        var options = Decoder.Options(format: .raw)
        try decode(Array("8d4d".utf8), options)
        #expect(heard.faults == ["badMagic at 0"])
        options.format = .pcap
        #expect(throws: InputError.capture(.notACapture(reason: "neither pcap nor pcapng"))) {
            try decode(ping, options)
        }
        options.format = .hex
        #expect(throws: InputError.self) { try decode(ping, options) }
    }

    @Test func `the sender option → that sender of all frames`() throws {
        try decode(ping, Decoder.Options(sender: .server))
        #expect(heard.frames.map(\.position.sender) == [.server])
        try decode(ping)
        #expect(heard.frames.last?.position.sender == nil)
    }

    @Test func `a capture that ends inside a packet → the frames before it, and a note`() throws {
        try decode(Packets.pcap(packets + [[1, 2, 3]]).dropLast(2))
        #expect(heard.frames.count == 1)
        #expect(heard.notes.last == "the capture ends inside packet 5")
    }

    @Test func `a body longer than the option allows → frameTooLarge`() throws {
        try decode(ping, Decoder.Options(bodyByteCount: 13))
        #expect(heard.faults == ["frameTooLarge at 0"])
    }
}
