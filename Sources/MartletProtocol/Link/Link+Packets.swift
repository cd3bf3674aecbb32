import MartletWire

/// Compact frames: the link writes frames as ever, and where both sides have agreed on it they leave as packets
/// (Specs/wire.md §15).
extension Link {
    /// How long a deflate stream is kept that nothing is sent on (W-94).
    static let streamLifetime: Duration = .seconds(60)
    /// Bytes of frames that are made into packets in one go: more than the largest frame that a link sends.
    private static let batchByteCount = 64 * 1024
    /// The same where nothing but acknowledgements and control frames waits; `withUnsafeTemporaryAllocation` finds so
    /// many on the stack.
    private static let briefByteCount = 1024

    /// Whether the peer may send packets: nothing is lost or overtaken on the way.
    @inline(__always)
    var readsPackets: Bool { features.contains(.compact) && carrier == .reliable }

    /// Whether packets may be sent: the peer has answered the hello, too.
    @inline(__always)
    var usesPackets: Bool { readsPackets && earlyBudget == nil }

    mutating func writePackets(into out: inout OutputRawSpan, now: Instant) {
        let writer = packets ?? PacketWriter(deflates: streamSize)
        packets = writer
        if endsStream, out.freeCapacity >= PacketWriter.endByteCount {
            writer.endStream(into: &out)
            endsStream = false
        }
        // What a link says that is only there fits on the stack.
        var limit = hasFrames(now: now) ? Link.batchByteCount : Link.briefByteCount
        while hasOutput(now: now) {
            let byteCount = writeBatch(writer, limit: min(limit, out.freeCapacity), into: &out, now: now)
            if byteCount == 0, limit == Link.batchByteCount { return }
            limit = Link.batchByteCount
        }
    }

    /// Writes frames of so many bytes at the most as packets; returns how many those were.
    private mutating func writeBatch(
        _ writer: PacketWriter, limit: Int, into out: inout OutputRawSpan, now: Instant
    ) -> Int {
        unsafe withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            var frames = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            write(into: &frames, now: now)
            let byteCount = unsafe frames.finalize(for: buffer)
            let written = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<byteCount]))
            if writer.write(written, secrets: secrets, into: &out) { streamDeadline = now + Link.streamLifetime }
            secrets.removeAll()
            return byteCount
        }
    }

    /// One link of a client's may take more memory than each of a relay's thousands; nil where nothing is deflated.
    private var streamSize: DeflateStream.Size? {
        guard deflatesPackets, features.contains(.sharedDeflate) else { return nil }
        return role == .client ? .large : .small
    }

    /// A stream that nothing was sent on for long is to end.
    mutating func checkStream(now: Instant) {
        guard let streamDeadline, streamDeadline <= now else { return }
        self.streamDeadline = nil
        endsStream = true
    }
}
