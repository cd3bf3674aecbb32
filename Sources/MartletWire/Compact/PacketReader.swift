/// What packets cost their reader beside the frames in them.
package struct PacketCounts: Equatable, Sendable {
    /// Packets read.
    package var packets = 0
    /// Those that held no frame, or ended a deflate stream.
    package var withoutFrames = 0
    /// Deflate streams begun.
    package var streams = 0
}

/// Makes frames of the packets of one direction of a connection.
///
/// What a packet costs is bounded before it is looked at: its payload by ``Packet/maxPayloadByteCount``, inflated or
/// not, and so each body that comes of it.
///
/// Between packets it holds what the next may leave out, and the inflate stream while the peer's deflate stream is
/// open.
package final class PacketReader {
    private var context = PacketContext()
    private var stream: InflateStream?
    /// Of a payload, what comes behind the frame that `frame` has stopped at.
    private var rest: [UInt8] = []
    /// Packets and streams read since they were asked for.
    private var counts = PacketCounts()

    /// A reader at the start of a connection.
    init() {}

    /// Bytes that a reader takes, beside its deflate stream.
    package var storageByteCount: Int { context.storageByteCount + rest.count }

    /// Whether a deflate stream is open (W-94).
    package var isStreaming: Bool { stream != nil }

    /// Whether `frame` stopped in the middle of a packet.
    var hasRest: Bool { !rest.isEmpty }

    /// What has been read since the last call.
    func takeCounts() -> PacketCounts {
        defer { counts = PacketCounts() }
        return counts
    }

    /// Goes on where `frame` has stopped.
    func resume(
        maxBodyByteCount: Int, _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let payload = rest
        rest = []
        return try readFrames(payload.rawBytes, maxBodyByteCount, frame)
    }

    /// Reads a whole packet and calls `frame` for each frame in it. When `frame` answers `.stop`, what is left waits
    /// for ``resume(maxBodyByteCount:_:)``.
    ///
    /// Throws `badChecksum`, `malformedPacket`, what inflating and ``Framer`` throw, and what `frame` throws.
    func read(
        _ packet: RawSpan, _ head: Packet.Head, maxBodyByteCount: Int,
        _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let end = packet.byteCount - Packet.checksumByteCount
        let expected = packet.loadUInt32(at: end)
        let actual = CRC32.checksum(packet.extracting(first: end))
        guard expected == actual else { throw .badChecksum(expected: expected, actual: actual) }
        let payload = packet.extracting(head.byteCount..<end)
        counts.packets += 1
        guard head.isDeflated else { return try readFrames(payload, maxBodyByteCount, frame) }
        guard payload.byteCount > 0 else {
            stream = nil
            counts.withoutFrames += 1
            return .proceed
        }
        let stream = openStream()
        let inflated = try stream.inflate(payload, limit: Packet.maxPayloadByteCount)
        return try readFrames(inflated.rawBytes, maxBodyByteCount, frame)
    }

    private func openStream() -> InflateStream {
        if let stream { return stream }
        counts.streams += 1
        let made = InflateStream()
        stream = made
        return made
    }

    private func readFrames(
        _ payload: RawSpan, _ maxBodyByteCount: Int,
        _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        var cursor = PacketCursor(payload)
        if cursor.isAtEnd { counts.withoutFrames += 1 }
        while !cursor.isAtEnd {
            guard try readFrame(&cursor, maxBodyByteCount, frame) == .stop else { continue }
            rest = [UInt8](copying: cursor.rest())
            return .stop
        }
        return .proceed
    }

    private func readFrame(
        _ cursor: inout PacketCursor, _ maxBodyByteCount: Int,
        _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let first = try cursor.uint8()
        let form = first & CompactForm.mask
        let fields = CompactFields(rawValue: first & CompactForm.hasFields == 0 ? 0 : try cursor.uint8())
        guard fields.isDisjoint(with: .reserved) else { throw cursor.fault }
        let (header, place) = try readHeader(form, fields, &cursor)
        guard !CompactForm.isSpecial(form) || !fields.contains(.compression) else { throw cursor.fault }
        /// The frame has been read whole: the context has what its header said.
        func take(_ content: FrameContent) throws(WireError) -> FramerStep {
            context.note(header, at: place)
            var whole = header
            whole.bodyByteCount = UInt32(content.byteCount)
            guard whole.bodyByteCount <= maxBodyByteCount else {
                throw .frameTooLarge(byteCount: UInt64(whole.bodyByteCount), limit: maxBodyByteCount)
            }
            return try frame(whole, content)
        }
        if CompactForm.isSelfDelimited(form) {
            guard first & CompactForm.hasLength == 0 else { throw cursor.fault }
            switch form {
            case CompactForm.acceptedNext: return try readAccepted(isNext: true, &cursor, place, take)
            case CompactForm.accepted: return try readAccepted(isNext: false, &cursor, place, take)
            case CompactForm.ackNext: return try take(.ack(try readAck(bits: 0, &cursor)))
            default: return try take(.ack(try readAck(bits: try cursor.uint8(), &cursor)))
            }
        }
        let bytes = first & CompactForm.hasLength == 0 ? cursor.rest() : try cursor.bytes(try cursor.varint())
        guard !fields.contains(.compression) else { return try take(.body(bytes)) }
        var inner = PacketCursor(bytes)
        switch form {
        case CompactForm.text, CompactForm.textAt:
            context.counter &+= form == CompactForm.text ? 1 : try inner.signedVarint() &+ 1
            return try hand(TextMessage(counter: context.counter, text: inner.rest()), to: take)
        case CompactForm.text16:
            context.counter &+= 1
            let text = try inner.utf16()
            return try hand(TextMessage(counter: context.counter, text: text.rawBytes), to: take)
        case CompactForm.delivery:
            return try readDelivery(&inner, place, take)
        default:
            var body = TLVWriter()
            var budget = TLVLimits.maxCount
            try CompactBody.expand(bytes, into: &body, budget: &budget)
            return try take(.body(body.rawBytes))
        }
    }

    private func readHeader(
        _ form: UInt8, _ fields: CompactFields, _ cursor: inout PacketCursor
    ) throws(WireError) -> (FrameHeader, place: Int) {
        var header = FrameHeader(type: .data, timestamp: context.timestamp)
        let session = fields.contains(.session) ? SessionID(rawValue: try cursor.varint(as: UInt16.self)) : nil
        let sequence = fields.contains(.sequence) ? try cursor.uint32() : nil
        if fields.contains(.timestamp) { header.timestamp &+= UInt32(truncatingIfNeeded: try cursor.varint()) }
        let flags = fields.contains(.flags) ? FrameFlags(rawValue: try cursor.uint8()) : nil
        guard fields.contains(.type) == (form == CompactForm.announcedType) else { throw cursor.fault }
        let announced = fields.contains(.type) ? FrameType(rawValue: try cursor.uint16()) : nil
        guard let type = announced ?? CompactForm.type(of: form), type.mayBeCompact else { throw cursor.fault }
        if fields.contains(.compression) {
            switch try cursor.uint8() {
            case Compression.none.rawValue: header.compression = .none
            case Compression.zlib.rawValue: header.compression = .zlib
            case let other: throw .unsupportedCompression(other)
            }
        }
        guard let session = session ?? context.session(of: type), let place = context.place(of: session) else {
            throw cursor.fault
        }
        header.type = type
        header.session = session
        header.flags = flags ?? context.flags(of: type, at: place)
        guard header.flags.contains(.checksummed), header.flags.isDisjoint(with: .reserved) else { throw cursor.fault }
        guard let number = sequence ?? nextSequence(of: header, place) else { throw cursor.fault }
        header.sequence = number
        return (header, place)
    }

    private func nextSequence(of header: FrameHeader, _ place: Int) -> UInt32? {
        header.flags.contains(.reliable) ? context[place].nextSequence : 0
    }

    // MARK: Bodies

    /// A message that breaks a rule is handed over as its body, in which whoever parses it finds the fault.
    private func hand(
        _ message: TextMessage, to take: (FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let content = FrameContent.message(message)
        guard !message.isValid else { return try take(content) }
        return try content.withBody { body throws(WireError) in try take(.body(body)) }
    }

    /// Form 0x21 (W-87).
    private func readDelivery(
        _ cursor: inout PacketCursor, _ place: Int, _ take: (FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let byte = try cursor.uint8()
        let number = Int(byte & 0x07)
        guard byte & 0x38 == 0 else { throw cursor.fault }
        if byte & 0x80 != 0 {
            let device = try cursor.uint64()
            let sender = [UInt8](copying: try cursor.bytes(try cursor.varint()))
            guard (1...AccountName.maxByteCount).contains(sender.count) else { throw cursor.fault }
            context.setAuthor(number, PacketContext.Author(device: device, sender: sender))
        }
        guard var author = context.author(number) else { throw cursor.fault }
        context[place].offset &+= try cursor.signedVarint() &+ 1
        context.acceptedAt &+= try cursor.signedVarint()
        author.counter &+= try cursor.signedVarint() &+ 1
        context.setAuthor(number, author)
        let (offset, acceptedAt) = (context[place].offset, context.acceptedAt)
        func hand(_ text: RawSpan) throws(WireError) -> FramerStep {
            let message = TextMessage(
                offset: offset, acceptedAt: acceptedAt, device: DeviceID(rawValue: author.device),
                sender: author.sender.rawBytes, counter: author.counter, text: text)
            return try self.hand(message, to: take)
        }
        guard byte & 0x40 != 0 else { return try hand(cursor.rest()) }
        let text = try cursor.utf16()
        return try hand(text.rawBytes)
    }

    /// The numbers count from those that would come next. A run that cannot be is handed over as its body, in which
    /// whoever parses it finds the fault.
    private func readAccepted(
        isNext: Bool, _ cursor: inout PacketCursor, _ place: Int,
        _ take: (FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let counter = context[place].acceptedCounter &+ 1 &+ (isNext ? 0 : try cursor.signedVarint())
        let offset = context[place].acceptedOffset &+ 1 &+ (isNext ? 0 : try cursor.signedVarint())
        let count = isNext ? 1 : try cursor.varint(as: UInt32.self)
        context[place].acceptedCounter = counter &+ UInt64(count) &- 1
        context[place].acceptedOffset = offset &+ UInt64(count) &- 1
        if let run = AcceptedRun(checking: counter, count, offset) { return try take(.accepted(run)) }
        var body = TLVWriter()
        AcceptedRun.encode(counter, count, offset, into: &body)
        return try take(.body(body.rawBytes))
    }

    /// What the bits announce; without any it is form 0x26 (W-88).
    private func readAck(bits: UInt8, _ cursor: inout PacketCursor) throws(WireError) -> SingleAck {
        guard bits & 0xE0 == 0 else { throw cursor.fault }
        let named = bits & 0x01 == 0 ? nil : SessionID(rawValue: try cursor.varint(as: UInt16.self))
        guard let session = named ?? context.session, let place = context.place(of: session) else { throw cursor.fault }
        context[place].cumulative &+= bits & 0x02 == 0 ? 1 : try cursor.varint()
        if bits & 0x04 != 0 { context[place].creditLimit &+= try cursor.varint() }
        if bits & 0x08 != 0 { context.linkCredit &+= try cursor.varint() }
        var echo: Echo?
        if bits & 0x10 != 0 {
            context.echoed &+= UInt32(truncatingIfNeeded: try cursor.varint())
            echo = Echo(timestamp: context.echoed, delayMicroseconds: try cursor.varint(as: UInt32.self))
        }
        return SingleAck(
            echo: echo, linkCredit: context.linkCredit, session: session, cumulative: context[place].cumulative,
            creditLimit: context[place].creditLimit)
    }
}

extension FrameType {
    /// Whether a frame of this type may be part of a packet: those that begin or end a connection stand by themselves
    /// (W-82).
    var mayBeCompact: Bool {
        switch self {
        case .hello, .welcome, .reject, .goaway: false
        default: true
        }
    }
}

// One connection has it at a time, and one engine all of them.
extension PacketReader: @unchecked Sendable {}
