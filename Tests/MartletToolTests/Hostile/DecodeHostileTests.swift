import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

/// No input makes the decoder trap or hang, or show frames that it does not contain.
@Suite struct DecodeHostileTests {
    private static let rounds = 300

    /// A short conversation with fragments, compression and a resume.
    private static let packets: [[UInt8]] = {
        var packets: [[UInt8]] = []
        let body = text(String(repeating: "long ", count: 400)).encode()
        for number: UInt64 in 1...2 {
            var next: [UInt32] = [2, 2]
            func add(_ payload: [UInt8], from index: Int, _ flags: TCPSegment.Flags, at sequence: UInt32? = nil) {
                let ends = [Packets.client, Packets.server]
                packets.append(
                    Packets.ipv4(
                        payload, from: ends[index], to: ends[1 - index], sequence: sequence ?? next[index],
                        flags: flags))
                next[index] += UInt32(payload.count)
            }
            add([], from: 0, .syn, at: 1)
            add([], from: 1, [.syn, .ack], at: 1)
            let frames = [
                (0, frame(Handshake.hello(resuming: number == 2))), (1, frame(Handshake.welcome(resumed: number == 2))),
                (0, frame(Handshake.open(), session: 1, sequence: 1)),
                (0, frame(text("-"), session: 1, sequence: 2, more: true, body: Array(body[..<900]))),
                (0, frame(text("-"), session: 1, sequence: 3, body: Array(body[900...]))),
                (1, frame(text(String(repeating: "a", count: 99)), session: 1, sequence: 1, compressed: true)),
            ]
            for (index, bytes) in frames { add(bytes, from: index, [.psh, .ack]) }
            add([], from: 0, [.fin, .ack])
            add([], from: 1, [.rst, .ack])
        }
        return packets
    }()

    private func decode(_ bytes: [UInt8], _ format: Decoder.Format = .auto) -> Heard {
        let heard = Heard()
        var text = DecodeText(isVerbose: true, showsSecrets: true)
        let decoder = Decoder(Decoder.Options(format: format)) { event in
            heard.hear(event)
            for line in text.lines(event) { #expect(!line.contains("\n")) }
            #expect(!DecodeJSON.line(event, showingSecrets: true).text.contains("\n"))
        }
        do throws(InputError) {
            try decoder.feed(bytes)
            try decoder.finish()
        } catch { #expect(!error.message.isEmpty) }
        return heard
    }

    @Test func `the unchanged conversation is decoded without faults`() {
        #expect(decode(Packets.pcap(Self.packets)).frames.count == 12)
    }

    @Test(arguments: [UInt64](1...4))
    func `captures with flipped bits are decoded or refused`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let file = Packets.pcap(Self.packets)
        for _ in 0..<Self.rounds / 10 {
            var bytes = file
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[Int.random(in: 4..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            #expect(decode(bytes).frames.count <= 12)
        }
    }

    @Test func `reordered and missing packets are decoded or refused`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<Self.rounds / 10 {
            let packets = Self.packets.shuffled(using: &random).dropLast(Int.random(in: 0...9, using: &random))
            #expect(decode(Packets.pcap(Array(packets))).frames.count <= 12)
        }
    }

    @Test func `random bytes are decoded or refused`() {
        var random = SeededRandom(seed: 6)
        let starts: [[UInt8]] = [
            [], [0xA1, 0xB2, 0xC3, 0xD4], [0x0A, 0x0D, 0x0D, 0x0A],
            [0x0A, 0x0D, 0x0D, 0x0A, 0, 0, 0, 28, 0x1A, 0x2B, 0x3C, 0x4D],
            [0x8D, 0x4D, 0x52, 0x54, 1], Array("8d4d".utf8),
        ]
        for start in starts {
            for format in Decoder.Format.allCases {
                for _ in 0..<Self.rounds / 30 {
                    let count = Int.random(in: 0...600, using: &random)
                    let bytes = start + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                    #expect(decode(bytes, format).frames.isEmpty)
                }
            }
        }
    }
}
