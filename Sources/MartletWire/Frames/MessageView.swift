/// The body of a `data` frame where it lies, after reassembly: checked whole, copied nowhere.
///
/// A client sends counter, kind, content and perhaps a time to live. The relay puts four fields in front of the
/// client's bytes: offset, acceptedAt, device and sender. It has all four or none (W-61).
public struct MessageView: ~Escapable, BitwiseCopyable {
    /// The sender's number for the message, at least 1.
    public let counter: UInt64
    /// What the content is.
    public let kind: ContentKind
    /// The content's TLVs; they keep ``ContentRules``.
    public let content: RawSpan
    // What is not there is kept as what cannot be: no text and no sender is empty, and offsets start at 1. As optionals
    // they would make the view larger, and a call into the runtime would destroy it.
    @usableFromInline let textBytes: RawSpan
    let timeToLiveCount: UInt32?
    @usableFromInline let stampOffset: UInt64
    let stampAcceptedAt: UInt64
    let stampDevice: DeviceID
    @usableFromInline let stampSender: RawSpan

    /// The text's UTF-8, when the kind is text.
    @inlinable
    public var text: RawSpan? {
        @_lifetime(copy self)
        get { textBytes.isEmpty ? nil : textBytes }
    }
    /// How long after sending the message is worth delivering.
    public var timeToLive: Duration? { timeToLiveCount.map { Duration(wireCount: $0, .milliseconds) } }
    /// From the relay: the message's place in the room, at least 1.
    public var offset: UInt64? { hasRelayFields ? stampOffset : nil }
    /// From the relay: when it took the message, in milliseconds since 1970 by its clock.
    public var acceptedAt: UInt64? { hasRelayFields ? stampAcceptedAt : nil }
    /// From the relay: the sender's account as UTF-8, a valid ``AccountName``.
    @inlinable
    public var sender: RawSpan? {
        @_lifetime(copy self)
        get { hasRelayFields ? stampSender : nil }
    }
    /// From the relay: the sender's device.
    public var device: DeviceID? { hasRelayFields ? stampDevice : nil }

    /// Whether the relay's four fields are there. A relay refuses a client's message that has them.
    @inlinable
    public var hasRelayFields: Bool { stampOffset != 0 }

    /// How many fields a relay puts in front of a client's.
    public static var relayFieldCount: Int { 4 }

    /// Parses a whole body; see ``FrameBody`` and ``ContentRules`` for the errors. Allocates nothing.
    ///
    /// A body without the relay's fields must leave room for them: `tooManyTLVs` when it does not.
    @_lifetime(copy body)
    public init(parsing body: RawSpan) throws(WireError) {
        guard let usual = UsualMessage(body) else {
            self = try MessageView(any: body)
            return
        }
        counter = usual.counter
        kind = .text
        content = body.extracting(usual.contentStart..<body.byteCount)
        textBytes = body.extracting(usual.textStart..<body.byteCount)
        timeToLiveCount = usual.timeToLive
        stampOffset = usual.offset
        stampAcceptedAt = usual.acceptedAt
        stampDevice = DeviceID(rawValue: usual.device)
        stampSender = body.extracting(usual.sender)
    }

    /// The same field by field, whatever they are.
    @_lifetime(copy body)
    @inline(never)
    init(any body: RawSpan) throws(WireError) {
        var counter: UInt64?
        var kind: ContentKind?
        var content: RawSpan?
        var timeToLive: UInt32?
        var offset: UInt64?
        var acceptedAt: UInt64?
        var sender = RawSpan()
        var device: DeviceID?
        var budget = TLVLimits.maxCount
        try TLVValidator.validate(body, depth: 0, budget: &budget)
        var reader = TLVReader(body)
        while let field = try reader.next() {
            switch field.tag {
            case .counter: try counter.fill(.counter, field.positive())
            case .kind: try kind.fill(.kind, ContentKind(rawValue: field.uint16()))
            case .content:
                guard content == nil else { throw .duplicateField(.content) }
                content = field.value
            case .timeToLive: try timeToLive.fill(.timeToLive, field.uint32())
            case .offset: try offset.fill(.offset, field.positive())
            case .acceptedAt: try acceptedAt.fill(.acceptedAt, field.uint64())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .sender:
                guard sender.isEmpty else { throw .duplicateField(.sender) }
                guard AccountName.accepts(field.value) else { throw .invalidValue(.sender) }
                sender = field.value
            default: try field.skip()
            }
        }
        guard let content else { throw .missingField(.content) }
        self.counter = try counter.required(.counter)
        self.kind = try kind.required(.kind)
        self.content = content
        timeToLiveCount = timeToLive
        if offset == nil, acceptedAt == nil, sender.isEmpty, device == nil {
            guard budget >= Self.relayFieldCount else {
                throw .tooManyTLVs(limit: TLVLimits.maxCount - Self.relayFieldCount)
            }
        } else {
            // Some of them is what neither side sends (Specs/wire.md W-61).
            if offset == nil { throw .invalidValue(.offset) }
            if acceptedAt == nil { throw .invalidValue(.acceptedAt) }
            if device == nil { throw .invalidValue(.device) }
            if sender.isEmpty { throw .invalidValue(.sender) }
        }
        stampOffset = offset ?? 0
        stampAcceptedAt = acceptedAt ?? 0
        stampSender = sender
        stampDevice = device ?? DeviceID(rawValue: 0)
        // Few fields in the body are few in the content.
        if budget < TLVLimits.maxCount - ContentRules.maxTLVCount { try ContentRules.check(content) }
        textBytes = self.kind == .text ? try ContentRules.text(in: content) : RawSpan()
    }

    /// The counter of a body whose structure is right, even if a value in it is not; nil when there is no valid one.
    ///
    /// A refusal names the message by it.
    public static func counter(in body: RawSpan) -> UInt64? {
        number(.counter, in: body)
    }

    /// The relay's offset in a body whose structure is right, even if a value in it is not; nil when there is none.
    ///
    /// A receiver skips the message by it.
    public static func offset(in body: RawSpan) -> UInt64? {
        number(.offset, in: body)
    }

    private static func number(_ tag: Tag, in body: RawSpan) -> UInt64? {
        var reader = TLVReader(body)
        while let field = try? reader.next() {
            if field.tag == tag { return try? field.positive() }
        }
        return nil
    }
}
