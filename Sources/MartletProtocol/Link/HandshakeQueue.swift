import MartletWire

/// Frames that stand outside of any link and wait to be written: hello, welcome, reject and goaway.
///
/// A connection has at most a handful: one hello or welcome, and a goaway behind which it ends.
struct HandshakeQueue: Sendable {
    private struct Waiting: Sendable {
        var header: FrameHeader
        var body: [UInt8]
    }

    private var frames = Deque<Waiting>()

    var isEmpty: Bool { frames.isEmpty }

    /// Queues a frame and returns its size on the wire in bytes (C-12, C-14, C-21).
    @discardableResult
    mutating func append(_ type: FrameType, _ body: [UInt8]) -> Int {
        var header = FrameHeader(type: type, bodyByteCount: UInt32(body.count))
        header.seal(bodyChecksum: CRC32.checksum(body.rawBytes))
        frames.append(Waiting(header: header, body: body))
        return FrameHeader.byteCount + body.count
    }

    /// Writes what fits; false when something is left.
    mutating func write(into out: inout OutputRawSpan) -> Bool {
        while let frame = frames.first {
            guard out.freeCapacity >= FrameHeader.byteCount + frame.body.count else { return false }
            frame.header.encode(into: &out)
            out.append(bytes: frame.body.rawBytes)
            _ = frames.popFirst()
        }
        // The next is far off, if there is one.
        frames.removeAll()
        return true
    }

    mutating func removeAll() {
        frames.removeAll()
    }
}
