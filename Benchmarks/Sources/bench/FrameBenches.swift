import BenchHarness
import CBaselines
import MartletWire

/// Frames parsed, verified and encoded, compared with the same loop in C.
enum FrameBenches {
    /// The sizes of whole frames, in bytes.
    private static let frameByteCounts = [64, 256, 4096]
    /// The sizes of input pieces: a TCP segment and a socket buffer.
    private static let pieceByteCounts = [1460, 64 << 10]
    /// The size of the repeated stream, in bytes.
    private static let streamByteCount = 256 << 10

    static func cases() -> [Case] {
        frameByteCounts.flatMap { frame in
            pieceByteCounts.flatMap { piece in
                let name = "\(frame) B in \(piece) B"
                return [
                    Case("frames/decode \(name)", per: "frame", decoding(frame, piece)),
                    Case("frames/encode \(name)", per: "frame", encoding(frame, piece)),
                ]
            }
        }
    }

    // MARK: Decode

    private static func decoding(_ frameByteCount: Int, _ pieceByteCount: Int) -> [Subject] {
        let stream = stream(of: frameByteCount)
        let frames = stream.count / frameByteCount
        let reader = StreamReader(pieceByteCount)
        let baseline = BaselineReader(pieceByteCount)
        return [
            Subject("martlet", operations: frames) { reader.read(stream) },
            Subject("C loop", operations: frames) { baseline.read(stream) },
        ]
    }

    private static func stream(of frameByteCount: Int) -> [UInt8] {
        let body = [UInt8](repeating: 0x61, count: frameByteCount - FrameHeader.byteCount)
        return (1...streamByteCount / frameByteCount).flatMap { number in
            FrameHeader(
                type: .data, sequence: UInt32(number), timestamp: 1234, flags: FrameFlags(.reliable, priority: .high),
                session: SessionID(rawValue: 1)
            ).frame(body: body.rawBytes)
        }
    }

    // MARK: Encode

    private static func encoding(_ frameByteCount: Int, _ pieceByteCount: Int) -> [Subject] {
        let body = [UInt8](repeating: 0x61, count: frameByteCount - FrameHeader.byteCount)
        let room = max(pieceByteCount, frameByteCount)
        // The number of buffers filled in a call.
        let buffers = max(1, streamByteCount / room)
        let frames = buffers * (room / frameByteCount)
        let writer = FrameWriter(room)
        return [
            Subject("martlet", operations: frames) { for _ in 0..<buffers { writer.fill(with: body) } },
            Subject("C loop", operations: frames) { for _ in 0..<buffers { writer.fillByBaseline(with: body) } },
        ]
    }
}

/// Reads a stream with the framer, piece by piece.
private final class StreamReader {
    private let pieceByteCount: Int
    private var framer = Framer(maxBodyByteCount: 64 << 10)

    init(_ pieceByteCount: Int) {
        self.pieceByteCount = pieceByteCount
    }

    func read(_ stream: [UInt8]) { Self.read(stream, pieceByteCount, &framer) }

    /// The framer is borrowed once, so that the access to the object is not measured.
    private static func read(_ stream: [UInt8], _ pieceByteCount: Int, _ framer: inout Framer) {
        var frames = 0
        var bodyByteCount = 0
        let bytes = stream.rawBytes
        var offset = 0
        while offset < bytes.byteCount {
            let end = min(offset + pieceByteCount, bytes.byteCount)
            do throws(WireError) {
                _ = try framer.consumeContents(bytes.extracting(offset..<end)) { _, content in
                    frames &+= 1
                    bodyByteCount &+= content.byteCount
                    return .proceed
                }
            } catch {
                preconditionFailure("the stream is wrong: \(error)")
            }
            offset = end
        }
        precondition(frames > 0)
        measure_keep(UInt64(bodyByteCount))
    }
}

// One object owns the framer exclusively.
@safe
private final class BaselineReader {
    private let pieceByteCount: Int
    private let framer = unsafe baseline_framer_create()

    init(_ pieceByteCount: Int) {
        self.pieceByteCount = pieceByteCount
    }

    deinit {
        unsafe baseline_framer_destroy(framer)
    }

    func read(_ stream: [UInt8]) {
        var frames: UInt64 = 0
        var bodyByteCount: UInt64 = 0
        unsafe stream.withUnsafeBufferPointer { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = min(pieceByteCount, bytes.count - offset)
                let isRight = unsafe baseline_framer_consume(
                    framer, bytes.baseAddress! + offset, count, &frames, &bodyByteCount)
                precondition(isRight, "the stream is wrong")
                offset += count
            }
        }
        measure_keep(bodyByteCount &+ frames)
    }
}

/// Encodes frames into one buffer repeatedly.
@safe
private final class FrameWriter {
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0

    init(_ byteCount: Int) {
        unsafe buffer = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    func fill(with body: [UInt8]) {
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        let bytes = body.rawBytes
        while output.freeCapacity >= FrameHeader.byteCount + bytes.byteCount {
            sequence &+= 1
            let header = FrameHeader(
                type: .data, sequence: sequence, timestamp: 1234, flags: FrameFlags(.reliable, priority: .high),
                session: SessionID(rawValue: 1))
            header.encode(before: bytes, checksum: CRC32.checksum(bytes), into: &output)
        }
        measure_keep(UInt64(unsafe output.finalize(for: buffer)))
    }

    func fillByBaseline(with body: [UInt8]) {
        var frames: UInt64 = 0
        let count = unsafe body.withUnsafeBufferPointer { body in
            unsafe baseline_encode(
                buffer.baseAddress!.assumingMemoryBound(to: UInt8.self), buffer.count, body.baseAddress!, body.count,
                &sequence, &frames)
        }
        measure_keep(UInt64(count) &+ frames)
    }
}
