/// The body of a `data` frame where it lies, after reassembly: checked whole, copied nowhere.
///
/// A client sends counter, kind, content and perhaps a time to live. The relay puts four fields in front of the
/// client's bytes: offset, acceptedAt, device and sender. It has all four or none (W-61).
public struct MessageView: ~Escapable {
    /// The sender's number for the message, at least 1.
    public let counter: UInt64
    /// What the content is.
    public let kind: ContentKind
    /// The content's TLVs; they keep ``ContentRules``.
    public let content: RawSpan
    /// The text's UTF-8, when the kind is text.
    public let text: RawSpan?
    /// How long after sending the message is worth delivering.
    public let timeToLive: Duration?
    /// From the relay: the message's place in the room, at least 1.
    public let offset: UInt64?
    /// From the relay: when it took the message, in milliseconds since 1970 by its clock.
    public let acceptedAt: UInt64?
    /// From the relay: the sender's account as UTF-8, a valid ``AccountName``.
    public let sender: RawSpan?
    /// From the relay: the sender's device.
    public let device: DeviceID?

    /// Whether the relay's four fields are there. A relay refuses a client's message that has them.
    public var hasRelayFields: Bool { offset != nil }

    /// How many fields a relay puts in front of a client's.
    public static var relayFieldCount: Int { 4 }

    /// Parses a whole body; see ``FrameBody`` and ``ContentRules`` for the errors. Allocates nothing.
    ///
    /// A body without the relay's fields must leave room for them: `tooManyTLVs` when it does not.
    @_lifetime(copy body)
    public init(parsing body: RawSpan) throws(WireError) {
        var counter: UInt64?
        var kind: ContentKind?
        var content: RawSpan?
        var timeToLive: Duration?
        var offset: UInt64?
        var acceptedAt: UInt64?
        var sender: RawSpan?
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
            case .timeToLive: try timeToLive.fill(.timeToLive, field.duration(.milliseconds))
            case .offset: try offset.fill(.offset, field.positive())
            case .acceptedAt: try acceptedAt.fill(.acceptedAt, field.uint64())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .sender:
                guard sender == nil else { throw .duplicateField(.sender) }
                guard AccountName.accepts(field.value) else { throw .invalidValue(.sender) }
                sender = field.value
            default: try field.skip()
            }
        }
        guard let content else { throw .missingField(.content) }
        self.counter = try counter.required(.counter)
        self.kind = try kind.required(.kind)
        self.content = content
        self.timeToLive = timeToLive
        if offset == nil, acceptedAt == nil, sender == nil, device == nil {
            guard budget >= Self.relayFieldCount else {
                throw .tooManyTLVs(limit: TLVLimits.maxCount - Self.relayFieldCount)
            }
        } else {
            // Some of them is what neither side sends (Specs/wire.md W-61).
            if offset == nil { throw .invalidValue(.offset) }
            if acceptedAt == nil { throw .invalidValue(.acceptedAt) }
            if device == nil { throw .invalidValue(.device) }
            if sender == nil { throw .invalidValue(.sender) }
        }
        self.offset = offset
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.device = device
        // Few fields in the body are few in the content.
        if budget < TLVLimits.maxCount - ContentRules.maxTLVCount { try ContentRules.check(content) }
        text = self.kind == .text ? try ContentRules.text(in: content) : nil
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
