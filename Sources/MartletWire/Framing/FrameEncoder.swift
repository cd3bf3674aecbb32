/// Writes the frames of one direction of a connection into its carrier's buffer: as Specs/wire.md §3 has them, or
/// compact, in packets (§15).
public enum FrameEncoder: Sendable {
    /// Header and body.
    case plain
    /// Packets of compact frames.
    case compact(PacketWriter)

    /// For how many bytes of headers and bodies there is room; what is compact never takes more.
    @inlinable
    public func room(in out: borrowing OutputRawSpan) -> Int {
        switch self {
        case .plain: out.freeCapacity
        case .compact(let packets): packets.room(in: out)
        }
    }

    /// Appends a frame. Traps when there is no room for header and body.
    ///
    /// - Parameters:
    ///   - header: all but the body's length and the checksum.
    ///   - checksum: the body's CRC-32, where somebody has summed it.
    ///   - isSecret: whether it must not pass through a deflate stream (W-96).
    @inlinable
    @_lifetime(out: copy out)
    public func append(
        _ header: FrameHeader, _ body: RawSpan, layout: BodyLayout = .unknown, checksum: UInt32? = nil,
        isSecret: Bool = false, into out: inout OutputRawSpan
    ) {
        switch self {
        case .plain: header.encode(before: body, checksum: checksum ?? CRC32.checksum(body), into: &out)
        case .compact(let packets): packets.append(header, body, layout: layout, isSecret: isSecret, into: &out)
        }
    }

    /// Appends an acknowledgement. Traps when there is no room for header and body.
    @_lifetime(out: copy out)
    public func append(_ header: FrameHeader, _ ack: Ack, into out: inout OutputRawSpan) {
        if case .compact(let packets) = self, packets.append(header, ack, into: &out) { return }
        var body = TLVWriter(reserving: ack.byteCount)
        ack.encode(into: &body)
        append(header, body.rawBytes, into: &out)
    }

    /// Appends a whole frame that somebody else has encoded. Traps when there is no room for it.
    ///
    /// Throws what ``FrameHeader/init(parsing:maxBodyByteCount:)`` throws.
    @_lifetime(out: copy out)
    public func append(
        encoded frame: RawSpan, isSecret: Bool = false, into out: inout OutputRawSpan
    ) throws(WireError) {
        let header = try FrameHeader(parsing: frame, maxBodyByteCount: FrameHeader.largestBodyByteCount)
        let body = frame.extracting(droppingFirst: FrameHeader.byteCount)
        if header.type == .ack, header.compression == .none, !isSecret, let ack = try? Ack(parsing: body),
            ack.encode().rawBytes.hasSameBytes(as: body)
        {
            return append(header, ack, into: &out)
        }
        let layout = header.compression == .none ? BodyLayout(of: header.type, body) : .unknown
        append(header, body, layout: layout, isSecret: isSecret, into: &out)
    }

    /// Ends what the frames since the last call are part of. Nothing may be appended by anybody else before.
    ///
    /// Returns whether some of them passed through a deflate stream.
    @_lifetime(out: copy out)
    public func finish(into out: inout OutputRawSpan) -> Bool {
        switch self {
        case .plain: false
        case .compact(let packets): packets.finish(into: &out)
        }
    }
}
