import MartletWire

/// A frame with a copy of its body.
struct OwnedFrame: Equatable {
    var header: FrameHeader
    var body: [UInt8]
}

/// A stream of random frames that is determined by a seed.
struct FrameStream {
    var frames: [OwnedFrame] = []
    var bytes: [UInt8] = []

    init(seed: UInt64, bodyByteCounts: [Int]) throws(WireError) {
        var random = SeededRandom(seed: seed)
        for (index, byteCount) in bodyByteCounts.enumerated() {
            let body = random.bytes(byteCount)
            let header = FrameHeader(
                type: FrameType(rawValue: UInt16.random(in: 0 ... .max, using: &random)), sequence: UInt32(index),
                timestamp: UInt32.random(in: 0 ... .max, using: &random), flags: FrameFlags(.reliable, priority: .low),
                session: SessionID(rawValue: UInt16.random(in: 0 ... .max, using: &random)))
            let frame = header.frame(body: body)
            let sealed = try FrameHeader(parsing: frame.rawBytes, maxBodyByteCount: byteCount)
            frames.append(OwnedFrame(header: sealed, body: body))
            bytes += frame
        }
    }
}

extension Framer {
    /// Returns the frames of `bytes`, which are received in pieces of these sizes and a last piece.
    mutating func frames(from bytes: [UInt8], cutAfter sizes: [Int]) throws(WireError) -> [OwnedFrame] {
        var frames: [OwnedFrame] = []
        var offset = 0
        for size in sizes + [.max] {
            let end = offset + min(size, bytes.count - offset)
            let consumed = try consume(bytes[offset..<end]) { header, body in
                frames.append(OwnedFrame(header: header, body: [UInt8](copying: body)))
                return .proceed
            }
            precondition(consumed == end - offset, "a framer that is not stopped consumes everything")
            offset = end
        }
        return frames
    }

    /// Returns the error of `bytes`, which are received in one piece.
    mutating func error(from bytes: [UInt8]) -> WireError? {
        do throws(WireError) {
            _ = try frames(from: bytes, cutAfter: [])
            return nil
        } catch {
            return error
        }
    }
}
