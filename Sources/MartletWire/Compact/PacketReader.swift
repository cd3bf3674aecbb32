/// Counts of the packets that a reader has processed.
package struct PacketCounts: Equatable, Sendable {
    /// The number of packets.
    package var packets = 0
    /// The number of packets without a frame: empty ones, and those that ended a deflate stream.
    package var withoutFrames = 0
    /// The number of deflate streams that began.
    package var streams = 0
}

/// A parser for the packets of one direction of a connection.
///
/// The cost of a packet is bounded before it is parsed: ``Packet/maxPayloadByteCount`` bounds its payload, before and
/// after inflating, and therefore the size of each body.
///
/// Between packets the reader owns the context, and the inflate stream while the deflate stream of the peer is open.
package final class PacketReader {
    private var context = PacketContext()
    private var stream: InflateStream?
    /// The bytes of a payload after the frame for which `frame` returned `.stop`.
    private var rest: [UInt8] = []
    /// The counts since the last call of `takeCounts`.
    private var counts = PacketCounts()

    /// Creates a reader for a new connection.
    init() {}

    /// The number of bytes that the reader occupies, without its inflate stream.
    package var storageByteCount: Int { context.storageByteCount + rest.count }

    /// Whether a deflate stream is open (W-94).
    package var isStreaming: Bool { stream != nil }

    /// Whether frames of a packet remain because `frame` returned `.stop`.
    var hasRest: Bool { !rest.isEmpty }

    /// Returns the counts since the last call, and resets them.
    func takeCounts() -> PacketCounts {
        defer { counts = PacketCounts() }
        return counts
    }

    /// Parses the remaining frames of the packet at which `frame` returned `.stop`.
    func resume(
        maxBodyByteCount: Int, _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let payload = rest
        rest = []
        return try readFrames(payload.rawBytes, maxBodyByteCount, frame)
    }

    /// Parses a complete packet and calls `frame` for each frame in it. If `frame` returns `.stop`, the remaining
    /// frames are kept for ``resume(maxBodyByteCount:_:)``.
    ///
    /// - Throws: `badChecksum`, `malformedPacket`, the errors of inflating and of ``Framer``, and those of `frame`.
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
        let (header, index) = try readHeader(form, fields, &cursor)
        guard !CompactForm.isSpecial(form) || !fields.contains(.compression) else { throw cursor.fault }
        /// Records the header in the context after the frame was parsed completely, and passes the frame on.
        func report(_ content: FrameContent) throws(WireError) -> FramerStep {
            context.note(header, at: index)
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
            case CompactForm.acceptedNext: return try readAccepted(isNext: true, &cursor, index, report)
            case CompactForm.accepted: return try readAccepted(isNext: false, &cursor, index, report)
            case CompactForm.ackNext: return try report(.ack(try readAck(bits: 0, &cursor)))
            default: return try report(.ack(try readAck(bits: try cursor.uint8(), &cursor)))
            }
        }
        let bytes = first & CompactForm.hasLength == 0 ? cursor.rest() : try cursor.bytes(try cursor.varint())
        guard !fields.contains(.compression) else { return try report(.body(bytes)) }
        var inner = PacketCursor(bytes)
        switch form {
        case CompactForm.text, CompactForm.textAt:
            context.counter &+= form == CompactForm.text ? 1 : try inner.signedVarint() &+ 1
            return try pass(TextMessage(counter: context.counter, text: inner.rest()), to: report)
        case CompactForm.text16:
            context.counter &+= 1
            let text = try inner.utf16()
            return try pass(TextMessage(counter: context.counter, text: text.rawBytes), to: report)
        case CompactForm.delivery:
            return try readDelivery(&inner, index, report)
        default:
            var body = TLVWriter()
            var budget = TLVLimits.maxCount
            try CompactBody.expand(bytes, into: &body, budget: &budget)
            return try report(.body(body.rawBytes))
        }
    }

    private func readHeader(
        _ form: UInt8, _ fields: CompactFields, _ cursor: inout PacketCursor
    ) throws(WireError) -> (FrameHeader, index: Int) {
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
        guard let session = session ?? context.session(of: type), let index = context.index(of: session) else {
            throw cursor.fault
        }
        header.type = type
        header.session = session
        header.flags = flags ?? context.flags(of: type, at: index)
        guard header.flags.contains(.checksummed), header.flags.isDisjoint(with: .reserved) else { throw cursor.fault }
        guard let number = sequence ?? nextSequence(of: header, index) else { throw cursor.fault }
        header.sequence = number
        return (header, index)
    }

    private func nextSequence(of header: FrameHeader, _ index: Int) -> UInt32? {
        header.flags.contains(.reliable) ? context[index].nextSequence : 0
    }

    // MARK: Bodies

    /// Passes a text message on. An invalid one is passed on as its body, so that the parser of the body reports the
    /// error.
    private func pass(
        _ message: TextMessage, to report: (FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let content = FrameContent.message(message)
        guard !message.isValid else { return try report(content) }
        return try content.withBody { body throws(WireError) in try report(.body(body)) }
    }

    /// Parses a delivery, form 0x21 (W-87).
    private func readDelivery(
        _ cursor: inout PacketCursor, _ index: Int, _ report: (FrameContent) throws(WireError) -> FramerStep
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
        context[index].offset &+= try cursor.signedVarint() &+ 1
        context.acceptedAt &+= try cursor.signedVarint()
        author.counter &+= try cursor.signedVarint() &+ 1
        context.setAuthor(number, author)
        let (offset, acceptedAt) = (context[index].offset, context.acceptedAt)
        func pass(_ text: RawSpan) throws(WireError) -> FramerStep {
            let message = TextMessage(
                offset: offset, acceptedAt: acceptedAt, device: DeviceID(rawValue: author.device),
                sender: author.sender.rawBytes, counter: author.counter, text: text)
            return try self.pass(message, to: report)
        }
        guard byte & 0x40 != 0 else { return try pass(cursor.rest()) }
        let text = try cursor.utf16()
        return try pass(text.rawBytes)
    }

    /// Parses an `accepted`, whose numbers are differences from the expected ones. An invalid run is passed on as its
    /// body, so that the parser of the body reports the error.
    private func readAccepted(
        isNext: Bool, _ cursor: inout PacketCursor, _ index: Int,
        _ report: (FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let counter = context[index].acceptedCounter &+ 1 &+ (isNext ? 0 : try cursor.signedVarint())
        let offset = context[index].acceptedOffset &+ 1 &+ (isNext ? 0 : try cursor.signedVarint())
        let count = isNext ? 1 : try cursor.varint(as: UInt32.self)
        context[index].acceptedCounter = counter &+ UInt64(count) &- 1
        context[index].acceptedOffset = offset &+ UInt64(count) &- 1
        if let run = AcceptedRun(checking: counter, count, offset) { return try report(.accepted(run)) }
        var body = TLVWriter()
        AcceptedRun.encode(counter, count, offset, into: &body)
        return try report(.body(body.rawBytes))
    }

    /// Parses the fields of an `ack` that `bits` indicates; form 0x26 has none (W-88).
    private func readAck(bits: UInt8, _ cursor: inout PacketCursor) throws(WireError) -> SingleAck {
        guard bits & 0xE0 == 0 else { throw cursor.fault }
        let named = bits & 0x01 == 0 ? nil : SessionID(rawValue: try cursor.varint(as: UInt16.self))
        guard let session = named ?? context.session, let index = context.index(of: session) else { throw cursor.fault }
        context[index].cumulative &+= bits & 0x02 == 0 ? 1 : try cursor.varint()
        if bits & 0x04 != 0 { context[index].creditLimit &+= try cursor.varint() }
        if bits & 0x08 != 0 { context.linkCredit &+= try cursor.varint() }
        var echo: Echo?
        if bits & 0x10 != 0 {
            context.echoed &+= UInt32(truncatingIfNeeded: try cursor.varint())
            echo = Echo(timestamp: context.echoed, delayMicroseconds: try cursor.varint(as: UInt32.self))
        }
        return SingleAck(
            echo: echo, linkCredit: context.linkCredit, session: session, cumulative: context[index].cumulative,
            creditLimit: context[index].creditLimit)
    }
}

extension FrameType {
    /// Whether a packet may contain a frame of this type. Frames that begin, authenticate or end a connection are
    /// always plain (W-82).
    var mayBeCompact: Bool {
        switch self {
        case .hello, .welcome, .reject, .goaway, .auth: false
        default: true
        }
    }
}

// One connection owns the reader, and one engine accesses all connections.
extension PacketReader: @unchecked Sendable {}
