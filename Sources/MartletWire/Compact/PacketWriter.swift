/// A writer of packets of compact frames into the carrier's buffer, for one direction of one connection (Specs/wire.md
/// §15).
///
/// A packet is written in place. Its head is stored when its length is known, then the checksum is appended. A packet
/// never has more bytes than the plain frames that it contains. A frame that does not fit into a packet is written in
/// the plain form.
///
/// | state | owns | ends |
/// |---|---|---|
/// | between packets | the context, a deflate stream | the next frame that can be compact |
/// | in a packet | also the offset of the packet in the buffer, and of its last frame | the packet is full, a frame must be plain, or `finish` |
@usableFromInline
package final class PacketWriter {
    /// The minimum number of milliseconds between two short frames that contain their timestamp, pings and pongs
    /// excepted (W-83).
    static let timestampInterval: UInt32 = 10_000
    /// The minimum number of bytes of a body whose frame contains a new timestamp in any case. The flow of such frames
    /// is paced by the round trips that they measure.
    static let timedBodyByteCount = 1_024
    /// The minimum number of bytes of a payload that is deflated.
    static let minDeflatedByteCount = 16
    /// The maximum number of bytes that deflating adds to a payload: five for each stored block, and the flush.
    private static let deflateSlack = 32

    private var context = PacketContext()
    /// The offset of the unfinished packet in the buffer, in bytes.
    private var start: Int?
    /// The offsets of the packet's last frame and of its body, while the body's length can still be inserted.
    private var open: (head: Int, body: Int)?
    private var mayDeflate = true
    /// Whether the frame that is appended contains its timestamp.
    private var includesTimestamp = false
    private let deflates: DeflateStream.Size?
    private var stream: DeflateStream?
    private var hasDeflated = false

    /// Creates a writer for a new connection.
    ///
    /// - Parameter deflates: The memory size of the deflate stream for payloads; nil for no deflating.
    package init(deflates: DeflateStream.Size? = nil) {
        self.deflates = deflates
    }

    /// The number of bytes that the writer occupies, without its deflate stream.
    package var storageByteCount: Int { context.storageByteCount }

    /// Whether a deflate stream is open and occupies memory.
    package var isStreaming: Bool { stream != nil }

    // MARK: Packets

    /// Returns the number of bytes of headers and bodies that fit into `out`.
    @usableFromInline
    func freeByteCount(in out: borrowing OutputRawSpan) -> Int {
        start == nil ? out.freeCapacity : out.freeCapacity - Packet.checksumByteCount
    }

    /// Appends a frame; see ``FrameEncoder/append(_:_:layout:checksum:isSecret:into:)``.
    @_lifetime(out: copy out)
    @usableFromInline
    func append(
        _ header: FrameHeader, _ body: RawSpan, layout: BodyLayout, isSecret: Bool, into out: inout OutputRawSpan
    ) {
        if isSecret { finishPacket(into: &out) }
        guard let index = reserve(for: header, body.byteCount, into: &out) else {
            return header.encode(before: body, checksum: CRC32.checksum(body), into: &out)
        }
        switch (layout, header.type) {
        case _ where header.compression != .none: appendRaw(header, body, index, into: &out)
        case (.text, .data), (.text16, .data):
            let message = TextMessage(laidOut: body, isDelivery: false)
            append(header, text: message, isUTF16: layout == .text16, index, into: &out)
        case (.delivery, .data), (.delivery16, .data):
            let message = TextMessage(laidOut: body, isDelivery: true)
            append(header, delivery: message, isUTF16: layout == .delivery16, index, into: &out)
        case (.acceptedRun, .accepted): append(header, AcceptedRun(laidOut: body), index, into: &out)
        default: appendFields(header, body, index, into: &out)
        }
        note(header, at: index)
        guard isSecret else { return }
        mayDeflate = false
        finishPacket(into: &out)
    }

    /// Appends an acknowledgement of one session without ranges, which has a compact form. Returns false and appends
    /// nothing if the acknowledgement has other contents.
    @_lifetime(out: copy out)
    func append(_ header: FrameHeader, _ ack: Ack, into out: inout OutputRawSpan) -> Bool {
        guard ack.sessionCount == 1, case let part = ack.session(0), part.ranges.isEmpty,
            let named = context.index(of: part.session), let index = reserve(for: header, ack.byteCount, into: &out)
        else { return false }
        append(header, ack.echo, ack.linkCredit, part, named, index, into: &out)
        note(header, at: index)
        return true
    }

    /// Ends the packet, if one has begun. Returns whether the deflate stream processed a packet since the last call.
    @_lifetime(out: copy out)
    func finish(into out: inout OutputRawSpan) -> Bool {
        finishPacket(into: &out)
        defer { hasDeflated = false }
        return hasDeflated
    }

    /// Ends the deflate stream and notifies the reader, which also releases its memory (W-94).
    @_lifetime(out: copy out)
    package func endStream(into out: inout OutputRawSpan) {
        guard stream != nil else { return }
        finishPacket(into: &out)
        stream = nil
        let start = out.byteCount
        Packet.Head(payloadByteCount: 0, isDeflated: true).append(to: &out)
        seal(from: start, into: &out)
    }

    /// The number of bytes that ``endStream(into:)`` writes if no packet is unfinished.
    package static var endByteCount: Int { Packet.maxHeadByteCount + Packet.checksumByteCount }

    /// Reserves a frame in a packet and returns the index of its session in the context. Returns nil, with no
    /// packet begun, if the frame cannot be compact.
    @_lifetime(out: copy out)
    private func reserve(
        for header: FrameHeader, _ bodyByteCount: Int, into out: inout OutputRawSpan
    ) -> Int? {
        let byteCount = FrameHeader.byteCount + bodyByteCount
        precondition(byteCount <= freeByteCount(in: out), "the frame does not fit")
        if let start, out.byteCount - start - Packet.maxHeadByteCount + byteCount > Packet.maxPayloadByteCount {
            finishPacket(into: &out)
        }
        guard byteCount <= Packet.maxPayloadByteCount, header.type.mayBeCompact, header.version == .current,
            let index = context.index(of: header.session)
        else {
            finishPacket(into: &out)
            return nil
        }
        if start == nil {
            start = out.byteCount
            out.append(bigEndian: UInt16(0))
        }
        let age = header.timestamp &- context.timestamp
        includesTimestamp =
            !context.hasWrittenTimestamp || age >= Self.timestampInterval || header.type == .ping
            || header.type == .pong || age > 0 && bodyByteCount >= Self.timedBodyByteCount
        return index
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
        if let deflates, isDeflatable, byteCount >= Self.minDeflatedByteCount,
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
            // Most payloads are short and have a head of one byte.
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

    /// Appends the form, and the fields of the header that the context does not imply.
    @_lifetime(out: copy out)
    private func appendHead(
        _ form: UInt8, _ header: FrameHeader, _ index: Int, isRaw: Bool = false, into out: inout OutputRawSpan
    ) {
        closeFrame(in: &out)
        var fields = fields(of: header, index)
        if isRaw { fields.insert(.compression) }
        let head = out.byteCount
        out.append(form | (fields.isEmpty ? 0 : CompactForm.hasFields))
        if !fields.isEmpty { append(fields, header, into: &out) }
        if !CompactForm.isSelfDelimited(form) { open = (head, out.byteCount) }
    }

    /// Inserts the length of the packet's last frame before another frame is appended.
    @_lifetime(out: copy out)
    private func closeFrame(in out: inout OutputRawSpan) {
        guard let open else { return }
        out.store(bigEndian: out.bytes.loadUInt8(at: open.head) | CompactForm.hasLength, at: open.head)
        out.insertByteCount(at: open.body)
        self.open = nil
    }

    private func fields(of header: FrameHeader, _ index: Int) -> CompactFields {
        var fields: CompactFields = []
        if context.session(of: header.type) != header.session { fields.insert(.session) }
        let next = header.flags.contains(.reliable) ? context[index].nextSequence : 0
        if next != header.sequence { fields.insert(.sequence) }
        if includesTimestamp { fields.insert(.timestamp) }
        if context.flags(of: header.type, at: index) != header.flags.union(.checksummed) { fields.insert(.flags) }
        if CompactForm.form(of: header.type) == CompactForm.announcedType { fields.insert(.type) }
        return fields
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

    /// Records the header of a frame that was written completely.
    private func note(_ header: FrameHeader, at index: Int) {
        var recorded = header
        if includesTimestamp {
            context.hasWrittenTimestamp = true
        } else {
            recorded.timestamp = context.timestamp
        }
        context.note(recorded, at: index)
    }

    // MARK: Bodies

    /// Appends a body without conversion: a compressed one, a fragment, or one without valid TLVs.
    @_lifetime(out: copy out)
    private func appendRaw(_ header: FrameHeader, _ body: RawSpan, _ index: Int, into out: inout OutputRawSpan) {
        appendHead(CompactForm.form(of: header.type), header, index, isRaw: true, into: &out)
        out.append(bytes: body)
        mayDeflate = false
    }

    @_lifetime(out: copy out)
    private func appendFields(_ header: FrameHeader, _ body: RawSpan, _ index: Int, into out: inout OutputRawSpan) {
        appendHead(CompactForm.form(of: header.type), header, index, into: &out)
        guard let start = open else { return }
        do throws(WireError) { try CompactBody.append(body, to: &out) } catch {
            out.removeLast(out.byteCount - start.head)
            open = nil
            appendRaw(header, body, index, into: &out)
        }
    }

    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, text message: TextMessage, isUTF16: Bool, _ index: Int, into out: inout OutputRawSpan
    ) {
        let skipped = message.counter &- context.counter &- 1
        context.counter = message.counter
        if skipped != 0 {
            appendHead(CompactForm.textAt, header, index, into: &out)
            out.append(signedVarint: skipped)
            out.append(bytes: message.text)
        } else if isUTF16 {
            appendHead(CompactForm.text16, header, index, into: &out)
            out.append(utf16: message.text)
        } else {
            appendHead(CompactForm.text, header, index, into: &out)
            out.append(bytes: message.text)
        }
    }

    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, delivery message: TextMessage, isUTF16: Bool, _ index: Int,
        into out: inout OutputRawSpan
    ) {
        appendHead(CompactForm.delivery, header, index, into: &out)
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
        out.append(signedVarint: message.offset &- context[index].offset &- 1)
        out.append(signedVarint: message.acceptedAt &- context.acceptedAt)
        out.append(signedVarint: context.advance(author, to: message.counter))
        context[index].offset = message.offset
        context.acceptedAt = message.acceptedAt
        if isUTF16 { out.append(utf16: message.text) } else { out.append(bytes: message.text) }
    }

    @_lifetime(out: copy out)
    private func append(_ header: FrameHeader, _ run: AcceptedRun, _ index: Int, into out: inout OutputRawSpan) {
        let counter = run.firstCounter &- context[index].acceptedCounter &- 1
        let offset = run.firstOffset &- context[index].acceptedOffset &- 1
        context[index].acceptedCounter &+= counter &+ UInt64(run.count)
        context[index].acceptedOffset &+= offset &+ UInt64(run.count)
        guard (counter, offset, run.count) != (0, 0, 1) else {
            return appendHead(CompactForm.acceptedNext, header, index, into: &out)
        }
        appendHead(CompactForm.accepted, header, index, into: &out)
        out.append(signedVarint: counter)
        out.append(signedVarint: offset)
        out.append(varint: UInt64(run.count))
    }

    /// Appends the fields of an `ack` that the context does not imply.
    ///
    /// - Parameter named: The index of the acknowledged session in the context.
    @_lifetime(out: copy out)
    private func append(
        _ header: FrameHeader, _ echo: Echo?, _ linkCredit: UInt64, _ part: SessionAck, _ named: Int, _ index: Int,
        into out: inout OutputRawSpan
    ) {
        let last = context[named]
        var bits: UInt8 = 0
        if part.session != context.session { bits |= 0x01 }
        if part.cumulative != last.cumulative &+ 1 { bits |= 0x02 }
        if part.creditLimit != last.creditLimit { bits |= 0x04 }
        if linkCredit != context.linkCredit { bits |= 0x08 }
        if echo != nil { bits |= 0x10 }
        appendHead(bits == 0 ? CompactForm.ackNext : CompactForm.ack, header, index, into: &out)
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

// One link owns the writer and accesses it from one executor at a time.
extension PacketWriter: @unchecked Sendable {}
