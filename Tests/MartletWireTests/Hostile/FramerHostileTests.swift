import MartletWire
import Testing

/// Tests the error and the memory of the framer for bytes of a hostile peer.
@Suite struct FramerHostileTests {
    static func header(_ changes: [Int: UInt8] = [:], body: String = "hello") -> [UInt8] {
        var bytes = FrameHeader(type: .data).frame(body: Array(body.utf8))
        for (offset, byte) in changes { bytes[offset] = byte }
        return bytes
    }

    @Test(
        arguments: [
            ([0: 0x47], 1, .badMagic(0x4700_0000)), ([3: 0], 4, .badMagic(0x8D4D_5200)),
            ([4: 3], 5, .unsupportedVersion(major: 3)), ([16: 0x48], 28, .reservedBits(0x48)),
            ([20: 1], 28, .frameTooLarge(byteCount: 0x0100_0005, limit: 1000)),
            ([17: 2], 28, .unsupportedCompression(2)),
        ] as [([Int: UInt8], Int, WireError)])
    func `an invalid header is refused at its first invalid byte`(
        changes: [Int: UInt8], count: Int, expected: WireError
    )
        throws
    {
        let bytes = Self.header(changes)
        var framer = Framer(maxBodyByteCount: 1000)
        _ = try framer.frames(from: Array(bytes[..<(count - 1)]), cutAfter: [Int](repeating: 1, count: count - 1))
        let held = framer.storageByteCount
        #expect(held <= 64)
        #expect(framer.error(from: [bytes[count - 1]]) == expected)
        let after = (framer.storageByteCount, framer.bufferedByteCount)
        #expect(after == (0, 0))
        var atOnce = Framer(maxBodyByteCount: 1000)
        #expect(atOnce.error(from: Array(bytes[..<count])) == expected)
    }

    // W-7
    @Test func `an announced length allocates no storage before its bytes arrive`() throws {
        var header = FrameHeader(type: .data)
        header.bodyByteCount = 1 << 30
        let start = FrameHeader(type: .data).frame(body: [])
        var claim = start
        claim.replaceSubrange(20..<24, with: [0x40, 0, 0, 0])
        var framer = Framer(maxBodyByteCount: 1 << 30)
        _ = try framer.frames(from: claim, cutAfter: [])
        let (pending, atFirst) = (framer.pendingHeader?.bodyByteCount, framer.storageByteCount)
        #expect(pending == 1 << 30)
        #expect(atFirst == 64)
        var arrived = claim.count
        for _ in 0..<200 {
            _ = try framer.frames(from: [UInt8](repeating: 0, count: 1001), cutAfter: [])
            arrived += 1001
            let (storage, buffered) = (framer.storageByteCount, framer.bufferedByteCount)
            #expect(buffered == arrived)
            #expect(storage < 2 * arrived)
        }
    }

    @Test func `a frame larger than the ring is reported, and its storage is released`() throws {
        let stream = try FrameStream(seed: 20, bodyByteCounts: [100_000, 10])
        var framer = Framer(maxBodyByteCount: 100_000, ringByteCount: 1024)
        let cuts = [Int](repeating: 1000, count: 100)
        let first = try framer.frames(from: Array(stream.bytes[..<100_000]), cutAfter: cuts)
        let inside = framer.storageByteCount
        #expect(first == [])
        #expect(inside == 100_028)
        let rest = try framer.frames(from: Array(stream.bytes[100_000...]), cutAfter: [28 + 5])
        let after = framer.storageByteCount
        #expect(rest == stream.frames)
        #expect(after == RingBuffer.minStorageByteCount)
    }

    @Test func `storage beyond the size of the ring is not kept for the next incomplete frame`() throws {
        let stream = try FrameStream(seed: 21, bodyByteCounts: [5000, 500, 500])
        var framer = Framer(maxBodyByteCount: 5000, ringByteCount: 1024)
        _ = try framer.frames(from: Array(stream.bytes[..<4000]), cutAfter: [])
        _ = try framer.consume(stream.bytes[4000..<5100]) { _, _ in .proceed }
        let (storage, buffered) = (framer.storageByteCount, framer.bufferedByteCount)
        #expect(buffered == 5100 - 5028)
        #expect(storage == 128)
    }

    @Test func `a frame with a single flipped bit is refused`() throws {
        let bytes = FrameHeader(type: .data, sequence: 7, timestamp: 9, flags: FrameFlags(.reliable, priority: .normal))
            .frame(body: Array("a message, 36 bytes of it, and so on".utf8))
        #expect(bytes.count == 64)
        for bit in 0..<(8 * bytes.count) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            var framer = Framer(maxBodyByteCount: 36)
            let error = thrown { () throws(WireError) in
                // With a longer length the framer waits for bytes, with a shorter one some bytes remain. Both are
                // errors at the end of the stream.
                let frames = try framer.frames(from: flipped, cutAfter: [])
                try framer.finish()
                if !frames.isEmpty { Issue.record("bit \(bit) was not detected") }
            }
            #expect(error != nil, "bit \(bit)")
        }
    }

    @Test func `a frame without a checksum is refused, in one piece and in two`() {
        let bytes = Self.header([16: 0])
        for cuts in [[], [10]] {
            var framer = Framer(maxBodyByteCount: 64)
            let error = thrown { () throws(WireError) in try framer.frames(from: bytes, cutAfter: cuts) }
            #expect(error == .missingChecksum)
        }
    }

    // W-5
    @Test func `a failed framer repeats its error and does not search for another frame`() {
        let good = Self.header()
        var bad = good
        bad[30] ^= 0x20
        var framer = Framer(maxBodyByteCount: 64)
        let first = framer.error(from: bad + good)
        #expect(first?.code == .badChecksum)
        #expect(framer.error(from: good) == first)
        #expect(thrown { () throws(WireError) in try framer.finish() } == first)
    }

    @Test func `an error of the receiver fails the framer`() {
        for cuts in [[], [30]] as [[Int]] {
            var framer = Framer(maxBodyByteCount: 64)
            let bytes = Self.header()
            let error = thrown { () throws(WireError) in
                var offset = 0
                for size in cuts + [bytes.count] {
                    let end = min(offset + size, bytes.count)
                    _ = try framer.consume(bytes[offset..<end]) { header, _ throws(WireError) in
                        throw .unknownCriticalFrame(header.type)
                    }
                    offset = end
                }
            }
            #expect(error == .unknownCriticalFrame(.data))
            #expect(framer.error(from: bytes) == .unknownCriticalFrame(.data))
        }
    }
}
