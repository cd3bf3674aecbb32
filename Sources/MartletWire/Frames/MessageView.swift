/// The body of a `data` frame where it lies, after reassembly: checked whole, copied nowhere.
///
/// A client sends counter, kind, content and perhaps a time to live. The relay puts four fields in front of the
/// client's bytes: offset, acceptedAt, device and sender. It has all four or none (W-61).
public struct MessageView: ~Escapable, BitwiseCopyable {
    // Places instead of values: a large value that cannot escape is destroyed by a call into the runtime.
    @usableFromInline let body: RawSpan
    @usableFromInline let places: MessagePlaces

    /// The sender's number for the message, at least 1.
    @inlinable
    public var counter: UInt64 { body.loadUInt64(at: Int(places.counter)) }
    /// What the content is.
    @inlinable
    public var kind: ContentKind { ContentKind(rawValue: body.loadUInt16(at: Int(places.kind))) }
    /// The content's TLVs; they keep ``ContentRules``.
    @inlinable
    public var content: RawSpan {
        @_lifetime(copy self)
        get { body.value(at: places.content) }
    }
    /// The text's UTF-8, when the kind is text.
    @inlinable
    public var text: RawSpan? {
        @_lifetime(copy self)
        get { places.text == 0 ? nil : body.value(at: places.text) }
    }
    /// How long after sending the message is worth delivering.
    public var timeToLive: Duration? { timeToLiveCount.map { Duration(wireCount: $0, .milliseconds) } }
    /// The same as the wire has it.
    var timeToLiveCount: UInt32? {
        places.timeToLive == 0 ? nil : body.loadUInt32(at: Int(places.timeToLive))
    }
    /// From the relay: the message's place in the room, at least 1.
    @inlinable
    public var offset: UInt64? { hasRelayFields ? body.loadUInt64(at: Int(places.offset)) : nil }
    /// From the relay: when it took the message, in milliseconds since 1970 by its clock.
    @inlinable
    public var acceptedAt: UInt64? { hasRelayFields ? body.loadUInt64(at: Int(places.acceptedAt)) : nil }
    /// From the relay: the sender's account as UTF-8, a valid ``AccountName``.
    @inlinable
    public var sender: RawSpan? {
        @_lifetime(copy self)
        get { hasRelayFields ? body.value(at: places.sender) : nil }
    }
    /// From the relay: the sender's device.
    @inlinable
    public var device: DeviceID? {
        hasRelayFields ? DeviceID(rawValue: body.loadUInt64(at: Int(places.device))) : nil
    }

    /// Whether the relay's four fields are there. A relay refuses a client's message that has them.
    @inlinable
    public var hasRelayFields: Bool { places.offset != 0 }

    /// The layout of a client's body.
    public var layout: BodyLayout {
        // Its fields are there alone and in order when they lie where they then do, and the text reaches to the end.
        guard places.sent == MessagePlaces.ofClientText, places.timeToLive == 0, let text,
            text.byteCount == body.byteCount - TextMessage.clientByteCount
        else { return .unknown }
        return BodyLayout(of: text, isDelivery: false)
    }

    /// How many fields a relay puts in front of a client's.
    public static var relayFieldCount: Int { 4 }

    /// Parses a whole body of less than 4 GiB; see ``FrameBody`` and ``ContentRules`` for the errors. Allocates
    /// nothing.
    ///
    /// A body without the relay's fields must leave room for them: `tooManyTLVs` when it does not.
    @_lifetime(copy body)
    public init(parsing body: RawSpan) throws(WireError) {
        guard let places = MessagePlaces(usual: body) else {
            self = try MessageView(any: body)
            return
        }
        self.body = body
        self.places = places
    }

    /// The same field by field, whatever they are.
    @_lifetime(copy body)
    @inline(never)
    init(any body: RawSpan) throws(WireError) {
        precondition(body.byteCount <= UInt32.max, "a body has less than 4 GiB")
        var budget = TLVLimits.maxCount
        try TLVValidator.validate(body, depth: 0, budget: &budget)
        var places = MessagePlaces()
        var reader = TLVReader(body)
        while let field = try reader.next() {
            let place = UInt32(truncatingIfNeeded: reader.offset &- field.value.byteCount)
            switch field.tag {
            case .counter:
                _ = try field.positive()
                try places.sent.x.fill(.counter, place)
            case .kind:
                _ = try field.uint16()
                try places.sent.y.fill(.kind, place)
            case .content: try places.sent.z.fill(.content, place)
            case .timeToLive:
                _ = try field.uint32()
                try places.timeToLive.fill(.timeToLive, place)
            case .offset:
                _ = try field.positive()
                try places.stamped.x.fill(.offset, place)
            case .acceptedAt:
                _ = try field.uint64()
                try places.stamped.y.fill(.acceptedAt, place)
            case .device:
                _ = try field.uint64()
                try places.stamped.z.fill(.device, place)
            case .sender:
                try places.stamped.w.fill(.sender, place)
                guard AccountName.accepts(field.value) else { throw .invalidValue(.sender) }
            default: try field.skip()
            }
        }
        if places.content == 0 { throw .missingField(.content) }
        if places.counter == 0 { throw .missingField(.counter) }
        if places.kind == 0 { throw .missingField(.kind) }
        if places.stamped == SIMD4() {
            guard budget >= Self.relayFieldCount else {
                throw .tooManyTLVs(limit: TLVLimits.maxCount - Self.relayFieldCount)
            }
        } else {
            // Some of them is what neither side sends (Specs/wire.md W-61).
            if places.offset == 0 { throw .invalidValue(.offset) }
            if places.acceptedAt == 0 { throw .invalidValue(.acceptedAt) }
            if places.device == 0 { throw .invalidValue(.device) }
            if places.sender == 0 { throw .invalidValue(.sender) }
        }
        let content = body.value(at: places.content)
        // Few fields in the body are few in the content.
        if budget < TLVLimits.maxCount - ContentRules.maxTLVCount { try ContentRules.check(content) }
        if body.loadUInt16(at: Int(places.kind)) == ContentKind.text.rawValue {
            places.sent.w = places.content &+ (try ContentRules.textPlace(in: content))
        }
        self.body = body
        self.places = places
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

extension RawSpan {
    /// The value of the field whose value begins there; its length is in front of it.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    func value(at place: UInt32) -> RawSpan {
        let start = Int(place)
        return extracting(start..<start &+ Int(loadUInt32(at: start &- 4)))
    }
}

extension UInt32 {
    /// Keeps the place of a field that a body may hold once (W-25).
    fileprivate mutating func fill(_ tag: Tag, _ place: UInt32) throws(WireError) {
        guard self == 0 else { throw .duplicateField(tag) }
        self = place
    }
}
