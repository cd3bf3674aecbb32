/// Writes frames as packets of compact frames: one direction of one connection (Specs/wire.md §15).
///
/// It takes frames as ``FrameHeader`` writes them, so that who makes frames need not know of packets, and what it makes
/// of them is never longer. What does not fit into a packet stays as it is.
public final class PacketWriter {
    /// A frame says its time when so many milliseconds have passed since one last did (W-83).
    static let timestampInterval: UInt32 = 10_000
    /// A payload that is shorter is not worth deflating, in bytes.
    static let leastDeflatedByteCount = 16
    /// What deflating may add to a payload, in bytes: for each stored block five, and the flush.
    private static let deflateSlack = 32

    private var context = PacketContext()
    private var payload: [UInt8] = []
    /// Where the last frame of the payload and its body begin, when its length can still be put in.
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

    /// Writes whole frames as packets, all of them, and answers whether one passed through the deflate stream.
    ///
    /// - Parameters:
    ///   - frames: One frame behind the other, as ``FrameHeader/frame(body:)`` makes them.
    ///   - secrets: Where frames begin that must not pass through the deflate stream, ascending (W-96).
    ///   - out: Has room for as many bytes as `frames`.
    @_lifetime(out: copy out)
    @discardableResult
    public func write(_ frames: RawSpan, secrets: [Int] = [], into out: inout OutputRawSpan) -> Bool {
        hasDeflated = false
        var offset = 0
        var nextSecret = 0
        // Packets are never longer than their frames.
        payload.reserveCapacity(min(frames.byteCount, Packet.maxPayloadByteCount))
        while offset < frames.byteCount {
            let rest = frames.extracting(droppingFirst: offset)
            let header = Self.header(of: rest)
            let byteCount = FrameHeader.byteCount + Int(header.bodyByteCount)
            let isSecret = nextSecret < secrets.count && secrets[nextSecret] == offset
            if isSecret { nextSecret += 1 }
            if isSecret || payload.count + byteCount > Packet.maxPayloadByteCount { finishPacket(into: &out) }
            if byteCount <= Packet.maxPayloadByteCount, context.canName(header.session), header.type.mayBeCompact,
                header.version == .current
            {
                if isSecret { mayDeflate = false }
                append(header, rest.extracting(FrameHeader.byteCount..<byteCount))
                if isSecret { finishPacket(into: &out) }
            } else {
                finishPacket(into: &out)
                out.append(bytes: rest.extracting(first: byteCount))
            }
            offset += byteCount
        }
        finishPacket(into: &out)
        payload = []
        return hasDeflated
    }

    /// Ends the deflate stream and tells the reader, which gives its memory back too (W-94).
    @_lifetime(out: copy out)
    public func endStream(into out: inout OutputRawSpan) {
        guard stream != nil else { return }
        stream = nil
        seal(Packet.Head(payloadByteCount: 0, isDeflated: true), [], into: &out)
    }

    /// Bytes that ``endStream(into:)`` writes.
    public static var endByteCount: Int { Packet.maxHeadByteCount + Packet.checksumByteCount }

    private static func header(of frame: RawSpan) -> FrameHeader {
        do throws(WireError) {
            return try FrameHeader(parsing: frame, maxBodyByteCount: FrameHeader.largestBodyByteCount)
        } catch {
            preconditionFailure("that is not a frame: \(error)")
        }
    }

    // MARK: Packets

    @_lifetime(out: copy out)
    private func finishPacket(into out: inout OutputRawSpan) {
        open = nil
        let isDeflatable = mayDeflate
        mayDeflate = true
        guard !payload.isEmpty else { return }
        defer { payload.removeAll(keepingCapacity: true) }
        let bound = payload.count + Self.deflateSlack
        if let deflates, isDeflatable, payload.count >= Self.leastDeflatedByteCount,
            bound <= min(Packet.maxPayloadByteCount, out.freeCapacity)
        {
            let stream = self.stream ?? DeflateStream(deflates)
            self.stream = stream
            hasDeflated = true
            let plain = payload
            let deflated = stream.deflate(plain.rawBytes)
            return seal(Packet.Head(payloadByteCount: deflated.count, isDeflated: true), deflated, into: &out)
        }
        seal(Packet.Head(payloadByteCount: payload.count, isDeflated: false), payload, into: &out)
    }

    @_lifetime(out: copy out)
    private func seal(_ head: Packet.Head, _ payload: [UInt8], into out: inout OutputRawSpan) {
        let start = out.byteCount
        head.append(to: &out)
        out.append(bytes: payload.rawBytes)
        let checksum = CRC32.checksum(out.bytes.extracting(droppingFirst: start))
        unsafe out.append(checksum.bigEndian, as: UInt32.self)
    }

    // MARK: Frames

    private func append(_ header: FrameHeader, _ body: RawSpan) {
        closeFrame()
        guard let place = context.place(of: header.session) else {
            preconditionFailure("the context cannot name the session")
        }
        var header = header
        let shape = shape(of: header, body, place)
        var fields = fields(of: header, place)
        if shape == .raw { fields.insert(.compression) }
        let announcesTime = fields.contains(.timestamp)
        let head = payload.count
        payload.append(shape.form(of: header.type) | (fields.isEmpty ? 0 : CompactForm.hasFields))
        if !fields.isEmpty { append(fields, header) }
        if !announcesTime { header.timestamp = context.timestamp }
        if announcesTime { context.hasSaidTime = true }
        let start = payload.count
        append(shape, body, place)
        if !CompactForm.isSelfDelimited(shape.form(of: header.type)) { open = (head, start) }
        if shape == .raw { mayDeflate = false }
        context.note(header, at: place)
    }

    /// Another frame follows in the packet: the last one has to say how long it is.
    private func closeFrame() {
        guard let open else { return }
        payload[open.head] |= CompactForm.hasLength
        payload.insert(varint: UInt64(payload.count - open.body), at: open.body)
        self.open = nil
    }

    private func fields(of header: FrameHeader, _ place: Int) -> CompactFields {
        var fields: CompactFields = []
        if context.session(of: header.type) != header.session { fields.insert(.session) }
        let next = header.flags.contains(.reliable) ? context[place].nextSequence : 0
        if next != header.sequence { fields.insert(.sequence) }
        let age = header.timestamp &- context.timestamp
        if !context.hasSaidTime || age >= Self.timestampInterval || header.type == .ping || header.type == .pong {
            fields.insert(.timestamp)
        }
        if context.flags(of: header.type, at: place) != header.flags { fields.insert(.flags) }
        if CompactForm.form(of: header.type) == CompactForm.announcedType { fields.insert(.type) }
        return fields
    }

    private func append(_ fields: CompactFields, _ header: FrameHeader) {
        payload.append(fields.rawValue)
        if fields.contains(.session) { payload.append(varint: UInt64(header.session.rawValue)) }
        if fields.contains(.sequence) { payload.append(bigEndian: header.sequence) }
        if fields.contains(.timestamp) { payload.append(varint: UInt64(header.timestamp &- context.timestamp)) }
        if fields.contains(.flags) { payload.append(header.flags.rawValue) }
        if fields.contains(.type) { payload.append(bigEndian: header.type.rawValue) }
        if fields.contains(.compression) { payload.append(header.compression.rawValue) }
    }

    private func append(_ shape: CompactFrameShape, _ body: RawSpan, _ place: Int) {
        switch shape {
        case .raw: payload.append(bytes: body)
        case .fields: CompactBody.append(body, to: &payload)
        case .text(let text, let skipped):
            context.counter &+= skipped &+ 1
            if skipped != 0 { payload.append(signedVarint: skipped) }
            payload.append(bytes: body.extracting(text..<body.byteCount))
        case .text16(let text):
            context.counter &+= 1
            payload.append(utf16: body.extracting(text..<body.byteCount))
        case .delivery(let delivery):
            append(delivery, body, place)
        case .accepted(let counter, let offset, let count):
            context[place].acceptedCounter &+= counter &+ UInt64(count)
            context[place].acceptedOffset &+= offset &+ UInt64(count)
            guard (counter, offset, count) != (0, 0, 1) else { return }
            payload.append(signedVarint: counter)
            payload.append(signedVarint: offset)
            payload.append(varint: UInt64(count))
        case .ack(let ack):
            append(ack)
        }
    }

    private func append(_ delivery: CompactFrameShape.Delivery, _ body: RawSpan, _ place: Int) {
        let text = body.extracting(delivery.text..<body.byteCount)
        let isShorter = text.isShorterInUTF16
        let encoding: UInt8 = isShorter ? 0x40 : 0
        var author = context.author(delivery.author)
        if author == nil || !delivery.isKnown {
            let sender = [UInt8](copying: body.extracting(delivery.sender))
            payload.append(UInt8(delivery.author) | 0x80 | encoding)
            payload.append(bigEndian: delivery.device)
            payload.append(varint: UInt64(sender.count))
            payload += sender
            author = PacketContext.Author(device: delivery.device, sender: sender)
            context.nextAuthor = UInt8((delivery.author + 1) % PacketContext.authorCount)
        } else {
            payload.append(UInt8(delivery.author) | encoding)
        }
        payload.append(signedVarint: delivery.offset &- context[place].offset &- 1)
        payload.append(signedVarint: delivery.acceptedAt &- context.acceptedAt)
        payload.append(signedVarint: delivery.counter &- author!.counter &- 1)
        if isShorter { payload.append(utf16: text) } else { payload.append(bytes: text) }
        context[place].offset = delivery.offset
        context.acceptedAt = delivery.acceptedAt
        author!.counter = delivery.counter
        context.setAuthor(delivery.author, author!)
    }

    private func append(_ ack: CompactFrameShape.Acknowledgement) {
        guard let place = context.place(of: ack.session) else { preconditionFailure("checked with the shape") }
        let bits = ack.bits
        if bits != 0 {
            payload.append(bits)
            if bits & 0x01 != 0 { payload.append(varint: UInt64(ack.session.rawValue)) }
            if bits & 0x02 != 0 { payload.append(varint: ack.cumulative &- context[place].cumulative) }
            if bits & 0x04 != 0 { payload.append(varint: ack.creditLimit &- context[place].creditLimit) }
            if bits & 0x08 != 0 { payload.append(varint: ack.linkCredit &- context.linkCredit) }
            if let echo = ack.echo {
                payload.append(varint: UInt64(echo.timestamp &- context.echoed))
                payload.append(varint: UInt64(echo.delay))
                context.echoed = echo.timestamp
            }
        }
        context[place].cumulative = ack.cumulative
        context[place].creditLimit = ack.creditLimit
        context.linkCredit = ack.linkCredit
    }

    /// The shortest shape that the body has in the context.
    private func shape(of header: FrameHeader, _ body: RawSpan, _ place: Int) -> CompactFrameShape {
        guard header.compression == .none else { return .raw }
        let special: CompactFrameShape? =
            switch header.type {
            case .data: .message(body, context)
            case .accepted: .accepted(body, context[place])
            case .ack: .acknowledgement(body, &context)
            default: nil
            }
        if let special { return special }
        do throws(WireError) { try TLVValidator.validate(body) } catch { return .raw }
        return .fields
    }
}

// One link owns it and uses it from one place at a time.
extension PacketWriter: @unchecked Sendable {}
