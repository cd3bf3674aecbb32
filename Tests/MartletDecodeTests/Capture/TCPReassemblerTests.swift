import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode

@Suite struct TCPReassemblerTests {
    private func segment(
        _ sequence: UInt32, _ bytes: [UInt8] = [], _ flags: TCPSegment.Flags = .ack, missing: Int = 0
    ) -> TCPSegment {
        TCPSegment(
            source: Packets.client, destination: Packets.server, sequence: sequence, flags: flags, payload: bytes,
            missingByteCount: missing)
    }

    @Test func `ordered, repeated and overlapping segments → each byte once`() {
        var stream = TCPReassembler()
        #expect(stream.receive(segment(99, [], .syn)) == [])
        #expect(stream.hasBeginning)
        #expect(stream.receive(segment(100, [1, 2])) == [1, 2])
        #expect(stream.receive(segment(100, [1, 2])) == [])
        #expect(stream.receive(segment(101, [7, 3])) == [3])
        #expect(stream.receive(segment(99, [0])) == [])
    }

    @Test func `segments behind a gap are held until it closes`() {
        var stream = TCPReassembler()
        _ = stream.receive(segment(0, [], .syn))
        #expect(stream.receive(segment(5, [5])) == [])
        #expect(stream.receive(segment(3, [3, 4])) == [])
        #expect(stream.hasGap)
        #expect(stream.heldByteCount == 3)
        #expect(stream.receive(segment(1, [1, 2])) == [1, 2, 3, 4, 5])
        #expect(!stream.hasGap)
        #expect(stream.heldByteCount == 0)
    }

    @Test func `sequence numbers wrap around`() {
        var stream = TCPReassembler()
        _ = stream.receive(segment(.max - 1, [], .syn))
        #expect(stream.receive(segment(1, [3])) == [])
        #expect(stream.receive(segment(.max, [1, 2])) == [1, 2, 3])
    }

    @Test func `a stream without SYN begins at its first segment`() {
        var stream = TCPReassembler()
        #expect(stream.receive(segment(500, [1])) == [1])
        #expect(!stream.hasBeginning)
    }

    @Test func `a stream ends when all bytes before its FIN have arrived`() {
        var stream = TCPReassembler()
        _ = stream.receive(segment(0, [], .syn))
        _ = stream.receive(segment(3, [3], [.fin, .ack]))
        #expect(!stream.hasEnded)
        #expect(stream.receive(segment(1, [1, 2])) == [1, 2, 3])
        #expect(stream.hasEnded)
        #expect(stream.receive(segment(4, [4])) == [])
    }

    @Test func `bytes cut off at the end of a segment leave a gap`() {
        var stream = TCPReassembler()
        #expect(stream.receive(segment(1, [1], missing: 2)) == [1])
        #expect(stream.receive(segment(4, [4])) == [])
        #expect(stream.receive(segment(2, [2, 3])) == [2, 3, 4])
    }

    @Test func `too many bytes or segments behind a gap break the stream`() {
        var stream = TCPReassembler()
        _ = stream.receive(segment(0, [], .syn))
        var sequence: UInt32 = 2
        while !stream.isBroken, sequence < 1 << 24 {
            _ = stream.receive(segment(sequence, [UInt8](repeating: 0, count: 1 << 16)))
            sequence += 1 << 16
        }
        #expect(stream.isBroken)
        #expect(stream.heldByteCount == 0)
        #expect(sequence >= 4 << 20)
        var small = TCPReassembler()
        _ = small.receive(segment(0, [], .syn))
        for index in 0...TCPReassembler.maxHeldCount { _ = small.receive(segment(UInt32(2 + 2 * index), [1])) }
        #expect(small.isBroken)
        #expect(small.receive(segment(1, [1])) == [])
    }
}
