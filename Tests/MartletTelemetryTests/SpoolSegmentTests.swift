import MartletWire
import Testing

@testable import MartletTelemetry

@Suite struct SpoolSegmentTests {
    private static let lines = ["m f=1i 1\n", "m f=2i 2\n", "long,k=v f=\"text\" 3\n"].map { Array($0.utf8) }

    private static var segment: [UInt8] {
        var bytes: [UInt8] = []
        for line in lines { SpoolSegment.append(line, to: &bytes) }
        return bytes
    }

    //
    @Test func `a segment truncated at each byte → the complete lines, and no damage`() {
        let bytes = Self.segment
        var ends: [Int] = []
        for line in Self.lines { ends.append((ends.last ?? 0) + SpoolSegment.headByteCount + line.count) }
        for count in 0...bytes.count {
            let complete = ends.count { $0 <= count }
            let last = SpoolSegment.read(Array(bytes.prefix(count)), isLast: true)
            #expect(last.lines == Array(Self.lines.prefix(complete)) && last.byteCount == count)
            #expect(last.damagedByteCount == 0)
            let part = SpoolSegment.read(Array(bytes.prefix(count)), isLast: false)
            #expect(part.lines == last.lines && part.byteCount == (complete == 0 ? 0 : ends[complete - 1]))
        }
    }

    //
    @Test func `each bit flipped → no line that was not written, and at least the lines before`() {
        let bytes = Self.segment
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let part = SpoolSegment.read(flipped, isLast: true)
            #expect(part.lines.allSatisfy { Self.lines.contains($0) } && part.lines.count < Self.lines.count)
            let first = SpoolSegment.headByteCount + Self.lines[0].count
            if bit / 8 >= first { #expect(part.lines.first == Self.lines[0]) }
            // A damaged line does not affect those after it.
            if (SpoolSegment.headByteCount..<first).contains(bit / 8) {
                #expect(part.lines == Array(Self.lines.dropFirst()) && part.damagedByteCount == first)
            }
        }
    }

    //
    @Test func `random bytes → no line, and an end within the bytes`() {
        var random = SeededRandom(seed: 1)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let part = SpoolSegment.read(bytes, isLast: count.isMultiple(of: 2))
            #expect(part.lines.isEmpty && part.byteCount <= count && part.damagedByteCount <= count)
        }
    }
}
