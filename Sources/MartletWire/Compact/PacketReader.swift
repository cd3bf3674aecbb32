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
        maxBodyByteCount: Int, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
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
        _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
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
        _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        var cursor = PacketCursor(payload)
        if cursor.isAtEnd { counts.withoutFrames += 1 }
        var body = TLVWriter()
        while !cursor.isAtEnd {
            body.removeAll()
            let header = try readFrame(&cursor, into: &body)
            guard body.byteCount <= maxBodyByteCount else {
                throw .frameTooLarge(byteCount: UInt64(body.byteCount), limit: maxBodyByteCount)
            }
            guard try frame(header, body.rawBytes) == .stop else { continue }
            rest = [UInt8](copying: cursor.rest())
            return .stop
        }
        return .proceed
    }

    private func readFrame(
        _ cursor: inout PacketCursor, into body: inout TLVWriter
    ) throws(WireError) -> FrameHeader {
        let first = try cursor.uint8()
        let form = first & CompactForm.mask
        let fields = CompactFields(rawValue: first & CompactForm.hasFields == 0 ? 0 : try cursor.uint8())
        guard fields.isDisjoint(with: .reserved) else { throw cursor.fault }
        let (header, place) = try readHeader(form, fields, &cursor)
        guard !CompactForm.isSpecial(form) || !fields.contains(.compression) else { throw cursor.fault }
        if CompactForm.isSelfDelimited(form) {
            guard first & CompactForm.hasLength == 0 else { throw cursor.fault }
            try readBody(form, &cursor, place, into: &body)
        } else {
            let bytes = first & CompactForm.hasLength == 0 ? cursor.rest() : try cursor.bytes(try cursor.varint())
            if fields.contains(.compression) {
                body.append(encoded: bytes)
            } else {
                var inner = PacketCursor(bytes)
                try readBody(form, &inner, place, into: &body)
            }
        }
        context.note(header, at: place)
        var whole = header
        whole.bodyByteCount = UInt32(body.byteCount)
        return whole
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

    private func readBody(
        _ form: UInt8, _ cursor: inout PacketCursor, _ place: Int, into body: inout TLVWriter
    ) throws(WireError) {
        switch form {
        case CompactForm.text, CompactForm.textAt:
            context.counter &+= form == CompactForm.text ? 1 : try cursor.signedVarint() &+ 1
            write(context.counter, cursor.rest(), into: &body)
        case CompactForm.text16:
            context.counter &+= 1
            let text = try cursor.utf16()
            write(context.counter, text.rawBytes, into: &body)
        case CompactForm.delivery:
            try readDelivery(&cursor, place, into: &body)
        case CompactForm.acceptedNext:
            writeAccepted(place, counter: 0, offset: 0, count: 1, into: &body)
        case CompactForm.accepted:
            let (counter, offset) = (try cursor.signedVarint(), try cursor.signedVarint())
            let count = try cursor.varint(as: UInt32.self)
            writeAccepted(place, counter: counter, offset: offset, count: count, into: &body)
        case CompactForm.ackNext:
            try readAck(bits: 0, &cursor, into: &body)
        case CompactForm.ack:
            try readAck(bits: try cursor.uint8(), &cursor, into: &body)
        default:
            var budget = TLVLimits.maxCount
            try CompactBody.expand(cursor.rest(), into: &body, budget: &budget)
        }
    }

    /// Form 0x21 (W-87).
    private func readDelivery(
        _ cursor: inout PacketCursor, _ place: Int, into body: inout TLVWriter
    ) throws(WireError) {
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
        body.append(.offset, uint64: context[place].offset)
        body.append(.acceptedAt, uint64: context.acceptedAt)
        body.append(.device, uint64: author.device)
        body.append(.sender, bytes: author.sender)
        if byte & 0x40 == 0 {
            write(author.counter, cursor.rest(), into: &body)
        } else {
            let text = try cursor.utf16()
            write(author.counter, text.rawBytes, into: &body)
        }
    }

    private func write(_ counter: UInt64, _ text: RawSpan, into body: inout TLVWriter) {
        body.append(.counter, uint64: counter)
        body.append(.kind, uint16: ContentKind.text.rawValue)
        body.appendHead(.content, followedBy: TLVLimits.headByteCount + text.byteCount)
        body.append(.text, bytes: text)
    }

    /// The numbers count from those that would come next.
    private func writeAccepted(
        _ place: Int, counter: UInt64, offset: UInt64, count: UInt32, into body: inout TLVWriter
    ) {
        let counter = context[place].acceptedCounter &+ 1 &+ counter
        let offset = context[place].acceptedOffset &+ 1 &+ offset
        body.appendHead(.acceptedRun, followedBy: 20)
        body.appendRaw(counter)
        body.appendRaw(count)
        body.appendRaw(offset)
        context[place].acceptedCounter = counter &+ UInt64(count) &- 1
        context[place].acceptedOffset = offset &+ UInt64(count) &- 1
    }

    /// What the bits announce; without any it is form 0x26 (W-88).
    private func readAck(
        bits: UInt8, _ cursor: inout PacketCursor, into body: inout TLVWriter
    ) throws(WireError) {
        guard bits & 0xE0 == 0 else { throw cursor.fault }
        let named = bits & 0x01 == 0 ? nil : SessionID(rawValue: try cursor.varint(as: UInt16.self))
        guard let session = named ?? context.session, let place = context.place(of: session) else { throw cursor.fault }
        context[place].cumulative &+= bits & 0x02 == 0 ? 1 : try cursor.varint()
        if bits & 0x04 != 0 { context[place].creditLimit &+= try cursor.varint() }
        if bits & 0x08 != 0 { context.linkCredit &+= try cursor.varint() }
        if bits & 0x10 != 0 {
            context.echoed &+= UInt32(truncatingIfNeeded: try cursor.varint())
            body.appendHead(.echo, followedBy: 8)
            body.appendRaw(context.echoed)
            body.appendRaw(try cursor.varint(as: UInt32.self))
        }
        body.append(.linkCredit, uint64: context.linkCredit)
        body.appendHead(.sessionAck, followedBy: 18)
        body.appendRaw(session.rawValue)
        body.appendRaw(context[place].cumulative)
        body.appendRaw(context[place].creditLimit)
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
