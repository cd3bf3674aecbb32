import Testing

@testable import MartletTool

@Suite struct TCPWayTests {
    private func segment(
        _ sequence: UInt32, _ bytes: [UInt8] = [], _ flags: TCPSegment.Flags = .ack, missing: Int = 0
    ) -> TCPSegment {
        TCPSegment(
            source: Packets.client, destination: Packets.server, sequence: sequence, flags: flags, payload: bytes,
            missingByteCount: missing)
    }

    @Test func `in order, twice, and with an overlap`() {
        var way = TCPWay()
        #expect(way.take(segment(99, [], .syn)) == [])
        #expect(way.hasBeginning)
        #expect(way.take(segment(100, [1, 2])) == [1, 2])
        #expect(way.take(segment(100, [1, 2])) == [])
        #expect(way.take(segment(101, [7, 3])) == [3])
        #expect(way.take(segment(99, [0])) == [])
    }

    @Test func `what comes early waits`() {
        var way = TCPWay()
        _ = way.take(segment(0, [], .syn))
        #expect(way.take(segment(5, [5])) == [])
        #expect(way.take(segment(3, [3, 4])) == [])
        #expect(way.hasHole)
        #expect(way.heldByteCount == 3)
        #expect(way.take(segment(1, [1, 2])) == [1, 2, 3, 4, 5])
        #expect(!way.hasHole)
        #expect(way.heldByteCount == 0)
    }

    @Test func `the numbers go round`() {
        var way = TCPWay()
        _ = way.take(segment(.max - 1, [], .syn))
        #expect(way.take(segment(1, [3])) == [])
        #expect(way.take(segment(.max, [1, 2])) == [1, 2, 3])
    }

    @Test func `a capture that begins later begins at the first segment`() {
        var way = TCPWay()
        #expect(way.take(segment(500, [1])) == [1])
        #expect(!way.hasBeginning)
    }

    @Test func `it ends when everything before its end has come`() {
        var way = TCPWay()
        _ = way.take(segment(0, [], .syn))
        _ = way.take(segment(3, [3], [.fin, .ack]))
        #expect(!way.hasEnded)
        #expect(way.take(segment(1, [1, 2])) == [1, 2, 3])
        #expect(way.hasEnded)
        #expect(way.take(segment(4, [4])) == [])
    }

    @Test func `what was cut off at its end leaves a hole`() {
        var way = TCPWay()
        #expect(way.take(segment(1, [1], missing: 2)) == [1])
        #expect(way.take(segment(4, [4])) == [])
        #expect(way.take(segment(2, [2, 3])) == [2, 3, 4])
    }

    @Test func `a hole is not waited for without end`() {
        var way = TCPWay()
        _ = way.take(segment(0, [], .syn))
        var sequence: UInt32 = 2
        while !way.isBroken, sequence < 1 << 24 {
            _ = way.take(segment(sequence, [UInt8](repeating: 0, count: 1 << 16)))
            sequence += 1 << 16
        }
        #expect(way.isBroken)
        #expect(way.heldByteCount == 0)
        #expect(sequence >= 4 << 20)
        var small = TCPWay()
        _ = small.take(segment(0, [], .syn))
        for index in 0...TCPWay.maxHeldCount { _ = small.take(segment(UInt32(2 + 2 * index), [1])) }
        #expect(small.isBroken)
        #expect(small.take(segment(1, [1])) == [])
    }
}
