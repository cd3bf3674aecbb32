/// An encoder that writes the frames of one direction of a connection into the carrier's buffer, in the plain form
/// (Specs/wire.md §3) or as packets of compact frames (§15).
@usableFromInline
package enum FrameEncoder: Sendable {
    /// The plain form: header and body.
    case plain
    /// Packets of compact frames.
    case compact(PacketWriter)

    /// Returns the number of bytes of headers and bodies that fit into `out`. A compact frame never has more bytes than
    /// a plain one.
    @inlinable
    package func freeByteCount(in out: borrowing OutputRawSpan) -> Int {
        switch self {
        case .plain: out.freeCapacity
        case .compact(let packets): packets.freeByteCount(in: out)
        }
    }

    /// Appends a frame.
    ///
    /// - Parameters:
    ///   - header: The header. The encoder sets the body's length and the checksum.
    ///   - body: The body, compressed if the header says so.
    ///   - layout: The layout of the body, which permits a shorter compact form.
    ///   - checksum: The CRC-32 of the body, if the caller has it; otherwise the encoder computes it.
    ///   - isSecret: Whether the frame is excluded from deflate streams (W-96).
    ///   - out: The carrier's buffer.
    /// - Precondition: Header and body fit into ``freeByteCount(in:)``.
    @inlinable
    @_lifetime(out: copy out)
    package func append(
        _ header: FrameHeader, _ body: RawSpan, layout: BodyLayout = .unknown, checksum: UInt32? = nil,
        isSecret: Bool = false, into out: inout OutputRawSpan
    ) {
        switch self {
        case .plain: header.encode(before: body, checksum: checksum ?? CRC32.checksum(body), into: &out)
        case .compact(let packets): packets.append(header, body, layout: layout, isSecret: isSecret, into: &out)
        }
    }

    /// Appends an acknowledgement.
    ///
    /// - Precondition: Header and body fit into ``freeByteCount(in:)``.
    @_lifetime(out: copy out)
    package func append(_ header: FrameHeader, _ ack: Ack, into out: inout OutputRawSpan) {
        if case .compact(let packets) = self, packets.append(header, ack, into: &out) { return }
        var body = TLVWriter(reserving: ack.byteCount)
        ack.encode(into: &body)
        append(header, body.rawBytes, into: &out)
    }

    /// Appends an encoded plain frame.
    ///
    /// - Throws: The errors of ``FrameHeader/init(parsing:maxBodyByteCount:)``.
    /// - Precondition: The frame fits into ``freeByteCount(in:)``.
    @_lifetime(out: copy out)
    package func append(
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

    /// Ends the unfinished packet, if there is one. Only this encoder may append to `out` before this call.
    ///
    /// - Returns: Whether a deflate stream has processed any frame since the last call.
    @_lifetime(out: copy out)
    package func finish(into out: inout OutputRawSpan) -> Bool {
        switch self {
        case .plain: false
        case .compact(let packets): packets.finish(into: &out)
        }
    }
}
