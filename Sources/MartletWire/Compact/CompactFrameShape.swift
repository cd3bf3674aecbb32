/// What a writer makes of a body: one of the forms that leave out what the context knows, compact TLVs, or the bytes as
/// they are (W-86).
enum CompactFrameShape: Equatable {
    /// As it is: compressed, a fragment, or not TLVs.
    case raw
    /// Compact TLVs.
    case fields
    /// A client's text, which begins at this offset of the body, and how far its counter is from the next.
    case text(Int, skipped: UInt64)
    /// The same with the next counter, and shorter in UTF-16.
    case text16(Int)
    case delivery(Delivery)
    /// One run: how far counter and offset are from the next, and its messages.
    case accepted(counter: UInt64, offset: UInt64, count: UInt32)
    case ack(Acknowledgement)

    struct Delivery: Equatable {
        var offset: UInt64
        var acceptedAt: UInt64
        var device: UInt64
        var sender: Range<Int>
        var counter: UInt64
        var text: Int
        /// The author's place, and whether it is theirs already.
        var author: Int
        var isKnown: Bool
    }

    struct Acknowledgement: Equatable {
        var session: SessionID
        var cumulative: UInt64
        var creditLimit: UInt64
        var linkCredit: UInt64
        var echo: Echo?
        /// What form 0x27 has to announce; nothing in form 0x26 (W-88).
        var bits: UInt8 = 0

        struct Echo: Equatable {
            var timestamp: UInt32
            var delay: UInt32
        }
    }

    func form(of type: FrameType) -> UInt8 {
        switch self {
        case .raw, .fields: CompactForm.form(of: type)
        case .text(_, skipped: 0): CompactForm.text
        case .text16: CompactForm.text16
        case .text: CompactForm.textAt
        case .delivery: CompactForm.delivery
        case .accepted(counter: 0, offset: 0, count: 1): CompactForm.acceptedNext
        case .accepted: CompactForm.accepted
        case .ack(let ack): ack.bits == 0 ? CompactForm.ackNext : CompactForm.ack
        }
    }

    // MARK: From bodies

    /// A message of the usual shape; nil when it is another.
    static func message(_ body: RawSpan, _ context: PacketContext) -> CompactFrameShape? {
        guard let places = MessagePlaces(usual: body), places.timeToLive == 0 else { return nil }
        let counter = body.loadUInt64(at: Int(places.counter))
        let text = Int(places.text)
        guard places.sender != 0 else {
            let skipped = counter &- context.counter &- 1
            if skipped == 0, body.extracting(text..<body.byteCount).isShorterInUTF16 { return .text16(text) }
            return .text(text, skipped: skipped)
        }
        let sender = Int(places.sender)..<Int(places.counter) - TLVLimits.headByteCount
        let device = body.loadUInt64(at: Int(places.device))
        let (author, isKnown) = context.author(device, body.extracting(sender))
        return .delivery(
            Delivery(
                offset: body.loadUInt64(at: Int(places.offset)),
                acceptedAt: body.loadUInt64(at: Int(places.acceptedAt)), device: device, sender: sender,
                counter: counter, text: text, author: author, isKnown: isKnown))
    }

    /// One run; nil when it is something else.
    static func accepted(_ body: RawSpan, _ session: PacketContext.Session) -> CompactFrameShape? {
        guard body.byteCount == 26, body.isHead(.acceptedRun, byteCount: 20, at: 0) else { return nil }
        return .accepted(
            counter: body.loadUInt64(at: 6) &- session.acceptedCounter &- 1,
            offset: body.loadUInt64(at: 18) &- session.acceptedOffset &- 1, count: body.loadUInt32(at: 14))
    }

    /// One session without ranges; nil when it is something else.
    static func acknowledgement(_ body: RawSpan, _ context: inout PacketContext) -> CompactFrameShape? {
        var start = 0
        var echo: Acknowledgement.Echo?
        if body.byteCount == 52, body.isHead(.echo, byteCount: 8, at: 0) {
            echo = Acknowledgement.Echo(timestamp: body.loadUInt32(at: 6), delay: body.loadUInt32(at: 10))
            start = 14
        }
        guard body.byteCount == start + 38, body.isHead(.linkCredit, byteCount: 8, at: start),
            body.isHead(.sessionAck, byteCount: 18, at: start + 14)
        else { return nil }
        let session = SessionID(rawValue: body.loadUInt16(at: start + 20))
        guard let place = context.place(of: session) else { return nil }
        var ack = Acknowledgement(
            session: session, cumulative: body.loadUInt64(at: start + 22), creditLimit: body.loadUInt64(at: start + 30),
            linkCredit: body.loadUInt64(at: start + 6), echo: echo)
        if session != context.session { ack.bits |= 0x01 }
        if ack.cumulative != context[place].cumulative &+ 1 { ack.bits |= 0x02 }
        if ack.creditLimit != context[place].creditLimit { ack.bits |= 0x04 }
        if ack.linkCredit != context.linkCredit { ack.bits |= 0x08 }
        if echo != nil { ack.bits |= 0x10 }
        return .ack(ack)
    }
}

extension PacketContext {
    /// Where an author is, or is to be put: in the place of whoever came first when all are taken.
    func author(_ device: UInt64, _ sender: RawSpan) -> (place: Int, isKnown: Bool) {
        for (place, author) in authors.enumerated() {
            if let author, author.device == device, author.sender.rawBytes.hasSameBytes(as: sender) {
                return (place, true)
            }
        }
        return authors.count < Self.authorCount ? (authors.count, false) : (Int(nextAuthor), false)
    }
}

extension RawSpan {
    fileprivate func isHead(_ tag: Tag, byteCount: Int, at offset: Int) -> Bool {
        loadUInt16(at: offset) == tag.rawValue && loadUInt32(at: offset + 2) == UInt32(byteCount)
    }
}
