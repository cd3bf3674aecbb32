/// Writes frames as packets of compact frames into the carrier's buffer: one direction of one connection
/// (Specs/wire.md §15).
///
/// A packet is written where it leaves from. Its head is stored when its length is known, and its checksum appended.
/// What it is made of never takes more bytes than the frames would. A frame that does not fit into a packet stays as it
/// is.
///
/// | state | owns | ends |
/// |---|---|---|
/// | between packets | the context, a deflate stream | the next frame that may be compact |
/// | in a packet | also where in the buffer the packet begins, and its last frame | the packet is full, a frame has to be outside of it, or `finish` |
public final class PacketWriter {
    /// A frame says its time when so many milliseconds have passed since one last did (W-83).
    static let timestampInterval: UInt32 = 10_000
    /// A payload that is shorter is not worth deflating, in bytes.
    static let leastDeflatedByteCount = 16
    /// What deflating may add to a payload, in bytes: for each stored block five, and the flush.
    private static let deflateSlack = 32

    private var context = PacketContext()
    /// Where the packet begins that is being written, in bytes of the buffer.
    private var start: Int?
    /// Where its last frame and that one's body begin, when the length can still be put in.
    private var open: (head: Int, body: Int)?
    private var mayDeflate = true
    private let deflates: DeflateStream.Size?
    private var stream: DeflateStream?
    private var hasDeflated = false

    /// A writer at the start of a connection.
    ///
    /// - Parameter deflates: The memory of the deflate stream that payloads pass through; nil for none.
    public init(deflates: DeflateStream.Size? = nil) {
        self.deflates = deflates
    }

    /// Bytes that a writer takes, beside its deflate stream.
    package var storageByteCount: Int { context.storageByteCount }

    /// Whether a deflate stream is open, and holds memory.
    public var isStreaming: Bool { stream != nil }

    // MARK: Packets

    /// For how many bytes of headers and bodies there is room.
    @usableFromInline
    func room(in out: borrowing OutputRawSpan) -> Int {
        start == nil ? out.freeCapacity : out.freeCapacity - Packet.checksumByteCount
    }

    /// Appends a frame; see ``FrameEncoder``.
    @_lifetime(out: copy out)
    @usableFromInline
    func append(
        _ header: FrameHeader, _ body: RawSpan, layout: BodyLayout, isSecret: Bool, into out: inout OutputRawSpan
    ) {
        if isSecret { finishPacket(into: &out) }
        guard let place = makeRoom(for: header, body.byteCount, into: &out) else {
            return header.encode(before: body, checksum: CRC32.checksum(body), into: &out)
        }
        switch (layout, header.type) {
        case _ where header.compression != .none: appendRaw(header, body, place, into: &out)
        case (.text, .data), (.text16, .data):
            let message = TextMessage(laidOut: body, isDelivery: false)
            append(header, text: message, isUTF16: layout == .text16, place, into: &out)
        case (.delivery, .data), (.delivery16, .data):
            let message = TextMessage(laidOut: body, isDelivery: true)
            append(header, delivery: message, isUTF16: layout == .delivery16, place, into: &out)
        case (.acceptedRun, .accepted): append(header, AcceptedRun(laidOut: body), place, into: &out)
        default: appendFields(header, body, place, into: &out)
        }
        note(header, at: place)
        guard isSecret else { return }
        mayDeflate = false
        finishPacket(into: &out)
    }

    /// Appends an acknowledgement of one session without ranges, which has a form of its own; false, and nothing has
    /// been appended, when it is another.
    @_lifetime(out: copy out)
    func append(_ header: FrameHeader, _ ack: Ack, into out: inout OutputRawSpan) -> Bool {
        guard ack.sessionCount == 1, case let part = ack.session(0), part.ranges.isEmpty,
            let named = context.place(of: part.session), let place = makeRoom(for: header, ack.byteCount, into: &out)
        else { return false }
        append(header, ack.echo, ack.linkCredit, part, named, place, into: &out)
        note(header, at: place)
        return true
    }

    /// Ends the packet, if one has begun; returns whether one passed through the deflate stream since the last call.
    @_lifetime(out: copy out)
    func finish(into out: inout OutputRawSpan) -> Bool {
        finishPacket(into: &out)
        defer { hasDeflated = false }
        return hasDeflated
    }

    /// Ends the deflate stream and tells the reader, which gives its memory back too (W-94).
    @_lifetime(out: copy out)
    public func endStream(into out: inout OutputRawSpan) {
        guard stream != nil else { return }
        finishPacket(into: &out)
        stream = nil
        let start = out.byteCount
        Packet.Head(payloadByteCount: 0, isDeflated: true).append(to: &out)
        seal(from: start, into: &out)
    }

    /// Bytes that ``endStream(into:)`` writes where nothing waits to be finished.
    public static var endByteCount: Int { Packet.maxHeadByteCount + Packet.checksumByteCount }

    /// Makes room in a packet for a frame and answers its session's place in the context; nil when it cannot be
    /// compact, and no packet has begun.
    @_lifetime(out: copy out)
    private func makeRoom(
        for header: FrameHeader, _ bodyByteCount: Int, into out: inout OutputRawSpan
    ) -> Int? {
        let byteCount = FrameHeader.byteCount + bodyByteCount
        precondition(byteCount <= room(in: out), "the frame does not fit")
        if let start, out.byteCount - start - Packet.maxHeadByteCount + byteCount > Packet.maxPayloadByteCount {
            finishPacket(into: &out)
        }
        guard byteCount <= Packet.maxPayloadByteCount, header.type.mayBeCompact, header.version == .current,
            let place = context.place(of: header.session)
        else {
            finishPacket(into: &out)
            return nil
        }
        if start == nil {
            start = out.byteCount
            out.append(bigEndian: UInt16(0))
        }
        return place
    }

    @_lifetime(out: copy out)
    private func finishPacket(into out: inout OutputRawSpan) {
        guard let start else { return }
        self.start = nil
        open = nil
        let isDeflatable = mayDeflate
        mayDeflate = true
        let payload = start + Packet.maxHeadByteCount
        let byteCount = out.byteCount - payload
        let bound = byteCount + Self.deflateSlack
        if let deflates, isDeflatable, byteCount >= Self.leastDeflatedByteCount,
            bound <= min(Packet.maxPayloadByteCount, out.capacity - start)
        {
            let stream = self.stream ?? DeflateStream(deflates)
            self.stream = stream
            hasDeflated = true
            let deflated = stream.deflate(out.bytes.extracting(droppingFirst: payload))
            out.removeLast(out.byteCount - start)
            Packet.Head(payloadByteCount: deflated.count, isDeflated: true).append(to: &out)
            out.append(bytes: deflated.rawBytes)
        } else {
            let head = Packet.Head(payloadByteCount: byteCount, isDeflated: false)
            // Mostly short: then its head is, too.
            if head.byteCount < Packet.maxHeadByteCount { out.moveTail(from: payload, by: -1) }
            head.store(at: start, in: &out)
        }
        seal(from: start, into: &out)
    }

    @_lifetime(out: copy out)
    private func seal(from start: Int, into out: inout OutputRawSpan) {
        out.append(bigEndian: CRC32.checksum(out.bytes.extracting(droppingFirst: start)))
    }

    // MARK: Heads

    /// Appends what is in front of a body: the form, and what of the header the context does not say.
    @_lifetime(out: copy out)
    private func appendHead(
        _ form: UInt8, _ header: FrameHeader, _ place: Int, isRaw: Bool = false, into out: inout OutputRawSpan
    ) {
        closeFrame(in: &out)
        var fields = fields(of: header, place)
        if isRaw { fields.insert(.compression) }
        let head = out.byteCount
        out.append(form | (fields.isEmpty ? 0 : CompactForm.hasFields))
        if !fields.isEmpty { append(fields, header, into: &out) }
        if !CompactForm.isSelfDelimited(form) { open = (head, out.byteCount) }
    }

    /// Another frame follows in the packet: the last one has to say how long it is.
    @_lifetime(out: copy out)
    private func closeFrame(in out: inout OutputRawSpan) {
        guard let open else { return }
        out.store(bigEndian: out.bytes.loadUInt8(at: open.head) | CompactForm.hasLength, at: open.head)
        out.insertByteCount(at: open.body)
        self.open = nil
    }

    private func fields(of header: FrameHeader, _ place: Int) -> CompactFields {
        var fields: CompactFields = []
        if context.session(of: header.type) != header.session { fields.insert(.session) }
        let next = header.flags.contains(.reliable) ? context[place].nextSequence : 0
        if next != header.sequence { fields.insert(.sequence) }
        if announcesTime(header) { fields.insert(.timestamp) }
        if context.flags(of: header.type, at: place) != header.flags.union(.checksummed) { fields.insert(.flags) }
        if CompactForm.form(of: header.type) == CompactForm.announcedType { fields.insert(.type) }
        return fields
    }

    private func announcesTime(_ header: FrameHeader) -> Bool {
        !context.hasSaidTime || header.timestamp &- context.timestamp >= Self.timestampInterval
            || header.type == .ping || header.type == .pong
    }

    @_lifetime(out: copy out)
    private func append(_ fields: CompactFields, _ header: FrameHeader, into out: inout OutputRawSpan) {
        out.append(fields.rawValue)
        if fields.contains(.session) { out.append(varint: UInt64(header.session.rawValue)) }
        if fields.contains(.sequence) { out.append(bigEndian: header.sequence) }
        if fields.contains(.timestamp) { out.append(varint: UInt64(header.timestamp &- context.timestamp)) }
        if fields.contains(.flags) { out.append(header.flags.union(.checksummed).rawValue) }
        if fields.contains(.type) { out.append(bigEndian: header.type.rawValue) }
        if fields.contains(.compression) { out.append(header.compression.rawValue) }
    }

    /// A frame has been written whole: the context has what it said.
    private func note(_ header: FrameHeader, at place: Int) {
        var said = header
        if announcesTime(header) { context.hasSaidTime = true } else { said.timestamp = context.timestamp }
        context.note(said, at: place)
    }

    // MARK: Bodies

    /// A body that is compressed, a fragment, or no TLVs.
    @_lifetime(out: copy out)
    private func appendRaw(_ header: FrameHeader, _ body: RawSpan, _ place: Int, into out: inout OutputRawSpan) {
        appendHead(CompactForm.form(of: header.type), header, place, isRaw: true, into: &out)
        out.append(bytes: body)
        mayDeflate = false
    }

    @_lifetime(out: copy out)
    private func appendFields(_ header: FrameHeader, _ body: RawSpan, _ place: Int, into out: inout OutputRawSpan) {
        appendHead(CompactForm.form(of: header.type), header, place, into: &out)
        guard let start = open else { return }
        do throws(WireError) { try CompactBody.append(body, to: &out) } catch {
            out.removeLast(out.byteCount - start.head)
            open = nil
            appendRaw(header, body, place, into: &out)
        }
    }

    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, text message: TextMessage, isUTF16: Bool, _ place: Int, into out: inout OutputRawSpan
    ) {
        let skipped = message.counter &- context.counter &- 1
        context.counter = message.counter
        if skipped != 0 {
            appendHead(CompactForm.textAt, header, place, into: &out)
            out.append(signedVarint: skipped)
            out.append(bytes: message.text)
        } else if isUTF16 {
            appendHead(CompactForm.text16, header, place, into: &out)
            out.append(utf16: message.text)
        } else {
            appendHead(CompactForm.text, header, place, into: &out)
            out.append(bytes: message.text)
        }
    }

    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, delivery message: TextMessage, isUTF16: Bool, _ place: Int,
        into out: inout OutputRawSpan
    ) {
        appendHead(CompactForm.delivery, header, place, into: &out)
        let encoding: UInt8 = isUTF16 ? 0x40 : 0
        let (author, isKnown) = context.author(message.device.rawValue, message.sender)
        if isKnown {
            out.append(UInt8(author) | encoding)
        } else {
            out.append(UInt8(author) | 0x80 | encoding)
            out.append(bigEndian: message.device.rawValue)
            out.append(varint: UInt64(message.sender.byteCount))
            out.append(bytes: message.sender)
            let sender = [UInt8](copying: message.sender)
            context.setAuthor(author, PacketContext.Author(device: message.device.rawValue, sender: sender))
            context.nextAuthor = UInt8((author + 1) % PacketContext.authorCount)
        }
        out.append(signedVarint: message.offset &- context[place].offset &- 1)
        out.append(signedVarint: message.acceptedAt &- context.acceptedAt)
        out.append(signedVarint: context.advance(author, to: message.counter))
        context[place].offset = message.offset
        context.acceptedAt = message.acceptedAt
        if isUTF16 { out.append(utf16: message.text) } else { out.append(bytes: message.text) }
    }

    @_lifetime(out: copy out)
    private func append(_ header: FrameHeader, _ run: AcceptedRun, _ place: Int, into out: inout OutputRawSpan) {
        let counter = run.firstCounter &- context[place].acceptedCounter &- 1
        let offset = run.firstOffset &- context[place].acceptedOffset &- 1
        context[place].acceptedCounter &+= counter &+ UInt64(run.count)
        context[place].acceptedOffset &+= offset &+ UInt64(run.count)
        guard (counter, offset, run.count) != (0, 0, 1) else {
            return appendHead(CompactForm.acceptedNext, header, place, into: &out)
        }
        appendHead(CompactForm.accepted, header, place, into: &out)
        out.append(signedVarint: counter)
        out.append(signedVarint: offset)
        out.append(varint: UInt64(run.count))
    }

    /// - Parameter named: the place of the session whose ack it is.
    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, _ echo: Echo?, _ linkCredit: UInt64, _ part: SessionAck, _ named: Int, _ place: Int,
        into out: inout OutputRawSpan
    ) {
        let last = context[named]
        var bits: UInt8 = 0
        if part.session != context.session { bits |= 0x01 }
        if part.cumulative != last.cumulative &+ 1 { bits |= 0x02 }
        if part.creditLimit != last.creditLimit { bits |= 0x04 }
        if linkCredit != context.linkCredit { bits |= 0x08 }
        if echo != nil { bits |= 0x10 }
        appendHead(bits == 0 ? CompactForm.ackNext : CompactForm.ack, header, place, into: &out)
        if bits != 0 {
            out.append(bits)
            if bits & 0x01 != 0 { out.append(varint: UInt64(part.session.rawValue)) }
            if bits & 0x02 != 0 { out.append(varint: part.cumulative &- last.cumulative) }
            if bits & 0x04 != 0 { out.append(varint: part.creditLimit &- last.creditLimit) }
            if bits & 0x08 != 0 { out.append(varint: linkCredit &- context.linkCredit) }
            if let echo {
                out.append(varint: UInt64(echo.timestamp &- context.echoed))
                out.append(varint: UInt64(echo.delayMicroseconds))
                context.echoed = echo.timestamp
            }
        }
        context[named].cumulative = part.cumulative
        context[named].creditLimit = part.creditLimit
        context.linkCredit = linkCredit
    }
}

// One link owns it and uses it from one place at a time.
extension PacketWriter: @unchecked Sendable {}
