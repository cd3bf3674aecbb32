import MartletRelay

@testable import MartletTelemetry
@testable import MartletWire

/// Points of clients and records of a spool.
///
/// Input: a byte for a batch or a segment, then the content of a request or the bytes of the segment.
enum TelemetryTarget {
    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        if input.loadUInt8(at: 0).isMultiple(of: 2) { readBatch(bytes) } else { readSegment(bytes) }
    }

    private static func readBatch(_ content: [UInt8]) {
        guard let batch = try? TelemetryBatch(parsing: content) else { return }
        for point in batch.points {
            hold(point.isValid, "a point of a batch is not valid")
            let line = LineProtocol.line(of: point, adding: [])
            hold((1...SpoolSegment.maxLineByteCount).contains(line.count), "a line exceeds its bound")
            hold(line.last == UInt8(ascii: "\n"), "a line has no end")
        }
        let encoded = TelemetryBatch.encode(batch.points.compactMap(\.validEncoding), of: batch.agent)
        let again = try? TelemetryBatch(parsing: encoded)
        hold(again?.points == batch.points && again?.agent == batch.agent, "a batch encodes to another")
    }

    private static func readSegment(_ bytes: [UInt8]) {
        let whole = SpoolSegment.read(bytes, isLast: true)
        hold(whole.byteCount == bytes.count, "a segment has another end")
        // A segment that is read in two parts has the same lines.
        let first = SpoolSegment.read(Array(bytes.prefix(bytes.count / 2)), isLast: false)
        let second = SpoolSegment.read(Array(bytes.dropFirst(first.byteCount)), isLast: true)
        hold(first.byteCount <= bytes.count / 2, "a part has more bytes")
        let isEnded = first.damagedByteCount > 0 || second.damagedByteCount > 0
        hold(isEnded || first.lines + second.lines == whole.lines, "parts have other lines")
        var written: [UInt8] = []
        for line in whole.lines { SpoolSegment.append(line, to: &written) }
        hold(SpoolSegment.read(written, isLast: false).lines == whole.lines, "lines are written as others")
    }
}
