import MartletWire

/// Packets, where both sides have agreed on them (Specs/wire.md §15).
extension Link {
    /// How long a deflate stream is kept that nothing is sent on (W-94).
    static let streamLifetime: Duration = .seconds(60)

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
        let encoder = FrameEncoder.compact(writer)
        write(encoder, into: &out, now: now)
        if encoder.finish(into: &out) { streamDeadline = now + Link.streamLifetime }
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
