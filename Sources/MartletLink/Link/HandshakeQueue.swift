package import MartletWire

/// Queued frames that belong to no link: hello, welcome, reject and goaway.
///
/// A connection has at most one hello or welcome, and a goaway or reject before its end.
package struct HandshakeQueue: Sendable {
    private struct Queued: Sendable {
        var header: FrameHeader
        var body: [UInt8]
    }

    private var frames = Deque<Queued>()

    package init() {}

    package var isEmpty: Bool { frames.isEmpty }

    /// Queues a frame and returns its size on the wire in bytes (C-12, C-14, C-21).
    @discardableResult
    package mutating func append(_ type: FrameType, _ body: [UInt8]) -> Int {
        var header = FrameHeader(type: type, bodyByteCount: UInt32(body.count))
        header.seal(bodyChecksum: CRC32.checksum(body.rawBytes))
        frames.append(Queued(header: header, body: body))
        return FrameHeader.byteCount + body.count
    }

    /// Writes the frames that fit; false when some are left.
    package mutating func write(into out: inout OutputRawSpan) -> Bool {
        while let frame = frames.first {
            guard out.freeCapacity >= FrameHeader.byteCount + frame.body.count else { return false }
            frame.header.encode(into: &out)
            out.append(bytes: frame.body.rawBytes)
            _ = frames.popFirst()
        }
        // Further frames are rare, so the queue keeps no memory.
        frames.removeAll()
        return true
    }

    /// The maximum number of frames that the state of a recording has.
    static let maxRecordedCount = 64

    var count: Int { frames.count }

    /// Removes the first frames, so that `count` are left.
    mutating func removeFirst(downTo count: Int) {
        while frames.count > count { _ = frames.popFirst() }
    }

    package mutating func removeAll() {
        frames.removeAll()
    }
}
