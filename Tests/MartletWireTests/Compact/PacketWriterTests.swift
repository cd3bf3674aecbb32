import MartletWire
import Testing

@Suite struct PacketWriterTests {
    static let session = SessionID(rawValue: 1)
    static let ada = AccountName("ada")

    /// Returns a reliable frame of a session at the time 0.
    static func frame(
        _ body: some FrameBody, _ sequence: UInt32, _ session: SessionID = session, time: UInt32 = 0
    ) -> [UInt8] {
        let flags = FrameFlags(.reliable, priority: .normal)
        let header = FrameHeader(
            type: type(of: body).type, sequence: sequence, timestamp: time, flags: flags, session: session)
        return header.frame(body: body.encode().rawBytes)
    }

    static func text(_ text: String, _ counter: UInt64) -> Message {
        Message(counter: counter, content: MessageContent(text: text))
    }

    static func delivery(_ text: String, _ offset: UInt64, at time: UInt64, from sender: AccountName = ada) -> Message {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: time, sender: sender, device: DeviceID(rawValue: 0x0102_0304_0506_0708))
        return Message(counter: offset, content: MessageContent(text: text), relay: stamp)
    }

    static func ack(_ cumulative: UInt64, credit: UInt64 = 0, link: UInt64 = 0, echo: Echo? = nil) -> [UInt8] {
        let ack = Ack(
            echo: echo, linkCredit: link,
            sessions: [SessionAck(session: session, cumulative: cumulative, creditLimit: credit)])
        return FrameHeader(type: .ack).frame(body: ack.encode().rawBytes)
    }

    static func accepted(_ counter: UInt64, _ offset: UInt64, count: UInt32 = 1) -> Accepted {
        Accepted(runs: [AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)])
    }

    @Test func `the first text contains its session, sequence and time, the next one only its text`() {
        let packets = PacketStream()
        let first = packets.write([Self.frame(Self.text("hello", 1), 1)])
        #expect(first == packet([0x60, 0x07, 0x01, 0, 0, 0, 1, 0x00] + "hello".utf8))
        let second = packets.write([Self.frame(Self.text("again", 2), 2)])
        #expect(second == packet([0x20] + "again".utf8))
        #expect(
            packets.read(first + second) == [
                Self.frame(Self.text("hello", 1), 1), Self.frame(Self.text("again", 2), 2),
            ])
    }

    @Test func `a skipped counter is written as a difference`() {
        let packets = PacketStream()
        _ = packets.write([Self.frame(Self.text("one", 1), 1)])
        #expect(packets.write([Self.frame(Self.text("ten", 10), 2)]) == packet([0x22, 0x10] + "ten".utf8))
        #expect(packets.write([Self.frame(Self.text("two", 2), 3)]) == packet([0x22, 0x11] + "two".utf8))
    }

    @Test func `an ack and an accepted in sequence have two bytes and one checksum`() {
        let packets = PacketStream()
        _ = packets.write([Self.frame(Self.accepted(1, 1), 1), Self.ack(1)])
        let both = [Self.ack(2), Self.frame(Self.accepted(2, 2), 2)]
        #expect(packets.write(both) == packet([0x26, 0x24]))
    }

    @Test func `an accepted after other publishers' messages contains the difference of the offsets`() {
        let packets = PacketStream()
        _ = packets.write([Self.frame(Self.accepted(1, 1), 1)])
        #expect(packets.write([Self.frame(Self.accepted(2, 7, count: 3), 2)]) == packet([0x25, 0x00, 0x0A, 0x03]))
        #expect(packets.write([Self.frame(Self.accepted(5, 10), 3)]) == packet([0x24]))
    }

    @Test func `an acknowledgement contains only the changed values`() {
        let packets = PacketStream()
        _ = packets.write([Self.frame(Self.text("one", 1), 1), Self.ack(1, credit: 100, link: 200)])
        #expect(packets.write([Self.ack(4, credit: 100, link: 200)]) == packet([0x27, 0x02, 0x03]))
        #expect(packets.write([Self.ack(5, credit: 107, link: 207)]) == packet([0x27, 0x0C, 0x07, 0x07]))
        let echo = Echo(timestamp: 300, delay: .microseconds(5))
        #expect(
            packets.write([Self.ack(6, credit: 107, link: 207, echo: echo)])
                == packet([0x27, 0x10, 0xAC, 0x02, 0x05]))
    }

    // W-90
    @Test(arguments: [(1 << 56) - 1, 1 << 56, UInt64.max - 64] as [UInt64])
    func `an acknowledgement of large numbers does not exceed its plain form`(_ number: UInt64) {
        let ranges = (0..<32 as Range<UInt64>).map { number - 64 + 2 * $0...number - 64 + 2 * $0 }
        let part = SessionAck(session: Self.session, cumulative: 1, creditLimit: 1, ranges: ranges)
        let frame = FrameHeader(type: .ack).frame(body: Ack(linkCredit: 1, sessions: [part]).encode().rawBytes)
        let packets = PacketStream()
        let packed = packets.write([frame])
        #expect(packed.count <= frame.count)
        #expect(packets.read(packed) == [frame])
    }

    @Test func `the second message of an author refers to the definition`() {
        let packets = PacketStream()
        let known = Self.frame(Self.delivery("hi", 5, at: 1000), 1)
        let first = packets.write([known])
        #expect(
            first
                == packet(
                    [0x61, 0x07, 0x01, 0, 0, 0, 1, 0x00, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 3] + "ada".utf8
                        + [0x08, 0xD0, 0x0F, 0x08] + "hi".utf8))
        let second = packets.write([Self.frame(Self.delivery("ho", 6, at: 1010), 2)])
        #expect(second == packet([0x21, 0x00, 0x00, 0x14, 0x00] + "ho".utf8))
    }

    @Test func `a text that is shorter in UTF-16 is sent in UTF-16`() {
        let packets = PacketStream()
        let first = Self.frame(Self.text("one", 1), 1)
        let second = Self.frame(Self.text("语音", 2), 2)
        let bytes = packets.write([first]) + packet([0x23, 0x8B, 0xED, 0x97, 0xF3])
        #expect(packets.write([second]) == Array(bytes.suffix(10)))
        #expect(packets.read(bytes) == [first, second])
        let third = Self.frame(Self.delivery("语音", 5, at: 1000), 3)
        #expect(packets.read(packets.write([third])) == [third])
    }

    @Test func `a ninth author replaces the first one`() {
        let packets = PacketStream()
        var bytes: [UInt8] = []
        var frames: [[UInt8]] = []
        for (index, name) in "abcdefghiab".enumerated() {
            let message = Self.delivery("hi", UInt64(index + 1), at: 1000, from: AccountName(String(name))!)
            frames.append(Self.frame(message, UInt32(index + 1)))
            bytes += packets.write([frames[index]])
        }
        #expect(packets.read(bytes) == frames)
    }

    // W-83.
    @Test func `a timestamp is written after ten seconds, and in every ping`() {
        let packets = PacketStream()
        _ = packets.write([Self.frame(Self.text("one", 1), 1)])
        #expect(packets.write([Self.frame(Self.text("two", 2), 2, time: 9_999)]) == packet([0x20] + "two".utf8))
        let third = packets.write([Self.frame(Self.text("three", 3), 3, time: 10_000)])
        #expect(third == packet([0x60, 0x04, 0x90, 0x4E] + "three".utf8))
        let ping = FrameHeader(type: .ping, timestamp: 10_001).frame(body: Ping(nonce: 7).encode().rawBytes)
        #expect(packets.write([ping]) == packet([0x47, 0x04, 0x01, 0x19, 0x07]))
    }

    @Test func `fragments, compressed bodies and bodies without TLVs are written unchanged`() {
        let packets = PacketStream()
        var fragment = FrameHeader(
            type: .data, sequence: 1, flags: [.reliable, .moreFragments, .checksummed], session: Self.session)
        fragment.flags.priority = .normal
        let part = fragment.frame(body: [1, 2, 3].rawBytes)
        fragment.flags.remove(.moreFragments)
        fragment.sequence = 2
        fragment.compression = .zlib
        let packed = fragment.frame(body: [4, 5].rawBytes)
        let bytes = packets.write([part, packed])
        #expect(
            bytes
                == packet(
                    [0xC1, 0x2F, 0x01, 0, 0, 0, 1, 0, 0x2B, 0x00, 3, 1, 2, 3] + [0x41, 0x20, 0x01, 4, 5]))
        #expect(packets.read(bytes) == [part, packed])
    }

    @Test func `frames that are too large, and those of the handshake, are written in the plain form`() {
        let packets = PacketStream()
        let large = Self.frame(Self.text(String(repeating: "x", count: 4096), 1), 1)
        let goaway = FrameHeader(type: .goaway).frame(body: GoAway(Notice(code: .none)).encode().rawBytes)
        #expect(packets.write([large, goaway]) == large + goaway)
    }

    @Test func `frames of sessions beyond the bound of the context are written in the plain form`() {
        let packets = PacketStream()
        let frames = (1...300).map { Self.frame(Self.text("x", UInt64($0)), 1, SessionID(rawValue: UInt16($0))) }
        let bytes = packets.write(frames)
        #expect(packets.read(bytes) == frames)
        #expect(Array(bytes.suffix(frames[299].count)) == frames[299])
        // A context contains the control session and 255 others.
        let asFrames = frames[255...].reduce(0) { $0 + $1.count }
        #expect(Array(bytes.suffix(asFrames)) == Array(frames[255...].joined()))
    }

    @Test func `a packet never exceeds the maximum payload`() {
        let packets = PacketStream()
        let frames = (1...40).map { Self.frame(Self.text(String(repeating: "y", count: 1000), UInt64($0)), UInt32($0)) }
        let bytes = packets.write(frames)
        #expect(packets.read(bytes) == frames)
        #expect(bytes.count < 40 * 1010)
    }
}

/// The writer and the reader of one direction of a connection.
final class PacketStream {
    var writer: PacketWriter
    var framer = Framer(maxBodyByteCount: 1 << 20)

    init(deflates: DeflateStream.Size? = nil) {
        writer = PacketWriter(deflates: deflates)
        framer.allowPackets(deflated: deflates != nil)
    }

    func write(_ frames: [[UInt8]], secrets: [Int] = []) -> [UInt8] {
        let encoder = FrameEncoder.compact(writer)
        return [UInt8](capacity: frames.reduce(64) { $0 + $1.count }) { out in
            for (index, frame) in frames.enumerated() {
                do {
                    try encoder.append(encoded: frame.rawBytes, isSecret: secrets.contains(index), into: &out)
                } catch {
                    Issue.record(error)
                }
            }
            _ = encoder.finish(into: &out)
        }
    }

    func end() -> [UInt8] {
        [UInt8](capacity: 16) { out in
            writer.endStream(into: &out)
        }
    }

    /// Returns the frames in `bytes` in the plain form, and records the first error as an issue.
    func read(_ bytes: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        do {
            _ = try framer.consume(bytes.rawBytes) { header, body in
                frames.append(header.frame(body: body))
                return .proceed
            }
        } catch {
            Issue.record(error)
        }
        return frames
    }
}

/// Returns a packet with a payload that is not deflated.
func packet(_ payload: [UInt8]) -> [UInt8] {
    let head =
        payload.count < 0x80 ? [UInt8(payload.count)] : [0xC0 | UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    var bytes = head + payload
    bytes.append(bigEndian: CRC32.checksum(bytes.rawBytes))
    return bytes
}
