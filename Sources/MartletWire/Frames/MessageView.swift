/// The borrowed body of a `data` frame after reassembly. It is completely validated and never copied.
///
/// A client sends counter, kind, content and optionally a time to live. The relay inserts four fields before those of
/// the client: offset, acceptedAt, device and sender. A body has all four or none of them (W-61).
@usableFromInline
package struct MessageView: ~Escapable, BitwiseCopyable {
    // The view stores offsets instead of values, because the destruction of a large non-escapable value calls the
    // runtime.
    @usableFromInline let body: RawSpan
    @usableFromInline let offsets: MessageFieldOffsets

    /// The counter of the message, at least 1.
    @inlinable
    package var counter: UInt64 { body.loadUInt64(at: Int(offsets.counter)) }
    /// The kind of the content.
    @inlinable
    package var kind: ContentKind { ContentKind(rawValue: body.loadUInt16(at: Int(offsets.kind))) }
    /// The TLVs of the content, which satisfy ``ContentRules``.
    @inlinable
    package var content: RawSpan {
        @_lifetime(copy self)
        get { body.value(at: offsets.content) }
    }
    /// The UTF-8 of the text; nil if the content is of another kind.
    @inlinable
    package var text: RawSpan? {
        @_lifetime(copy self)
        get { offsets.text == 0 ? nil : body.value(at: offsets.text) }
    }
    /// The duration after sending for which the message is useful to a reader.
    package var timeToLive: Duration? { timeToLiveCount.map { Duration(wireCount: $0, .milliseconds) } }
    /// The time to live in milliseconds.
    var timeToLiveCount: UInt32? {
        offsets.timeToLive == 0 ? nil : body.loadUInt32(at: Int(offsets.timeToLive))
    }
    /// The offset of the message in the room's log, at least 1; nil in a message of a client.
    @inlinable
    package var offset: UInt64? { hasRelayFields ? body.loadUInt64(at: Int(offsets.offset)) : nil }
    /// The time at which the relay accepted the message, in milliseconds since 1970 by the relay's clock; nil in a
    /// message of a client.
    @inlinable
    package var acceptedAt: UInt64? { hasRelayFields ? body.loadUInt64(at: Int(offsets.acceptedAt)) : nil }
    /// The UTF-8 of the publisher's account, a valid ``AccountName``; nil in a message of a client.
    @inlinable
    package var sender: RawSpan? {
        @_lifetime(copy self)
        get { hasRelayFields ? body.value(at: offsets.sender) : nil }
    }
    /// The device of the publisher; nil in a message of a client.
    @inlinable
    package var device: DeviceID? {
        hasRelayFields ? DeviceID(rawValue: body.loadUInt64(at: Int(offsets.device))) : nil
    }

    /// Whether the relay's four fields are present. A relay refuses a client's message with these fields.
    @inlinable
    package var hasRelayFields: Bool { offsets.offset != 0 }

    /// The layout of a client's body.
    package var layout: BodyLayout {
        // The fields are complete and in order if they have these offsets and the text extends to the end of the body.
        guard offsets.sent == MessageFieldOffsets.ofClientText, offsets.timeToLive == 0, let text,
            text.byteCount == body.byteCount - TextMessage.clientByteCount
        else { return .unknown }
        return BodyLayout(of: text, isDelivery: false)
    }

    /// The number of fields that a relay inserts before those of a client.
    package static var relayFieldCount: Int { 4 }

    /// Creates a view of a complete body of less than 4 GiB. It allocates nothing.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)`` and ``ContentRules/check(_:of:)``. A body without the
    ///   relay's fields must leave room for them; otherwise the error is `tooManyTLVs`.
    @_lifetime(copy body)
    package init(parsing body: RawSpan) throws(WireError) {
        guard let offsets = MessageFieldOffsets(usual: body) else {
            self = try MessageView(any: body)
            return
        }
        self.body = body
        self.offsets = offsets
    }

    /// Creates a view of a body with any layout, field by field.
    @_lifetime(copy body)
    @inline(never)
    init(any body: RawSpan) throws(WireError) {
        precondition(body.byteCount <= UInt32.max, "a body has less than 4 GiB")
        var budget = TLVLimits.maxCount
        try TLVValidator.validate(body, depth: 0, budget: &budget)
        try Self.checkCounts(in: body, budget: budget)
        var offsets = MessageFieldOffsets()
        var reader = TLVReader(body)
        while let field = try reader.next() {
            let offset = UInt32(truncatingIfNeeded: reader.offset &- field.value.byteCount)
            switch field.tag {
            case .counter:
                _ = try field.positive()
                try offsets.sent.x.fill(.counter, offset)
            case .kind:
                _ = try field.uint16()
                try offsets.sent.y.fill(.kind, offset)
            case .content: try offsets.sent.z.fill(.content, offset)
            case .timeToLive:
                _ = try field.uint32()
                try offsets.timeToLive.fill(.timeToLive, offset)
            case .offset:
                _ = try field.positive()
                try offsets.stamped.x.fill(.offset, offset)
            case .acceptedAt:
                _ = try field.uint64()
                try offsets.stamped.y.fill(.acceptedAt, offset)
            case .device:
                _ = try field.uint64()
                try offsets.stamped.z.fill(.device, offset)
            case .sender:
                try offsets.stamped.w.fill(.sender, offset)
                guard AccountName.accepts(field.value) else { throw .invalidValue(.sender) }
            default: try field.skip()
            }
        }
        if offsets.content == 0 { throw .missingField(.content) }
        if offsets.counter == 0 { throw .missingField(.counter) }
        if offsets.kind == 0 { throw .missingField(.kind) }
        if offsets.stamped != SIMD4() {
            // A body with some of the four fields is invalid (Specs/wire.md W-61).
            if offsets.offset == 0 { throw .invalidValue(.offset) }
            if offsets.acceptedAt == 0 { throw .invalidValue(.acceptedAt) }
            if offsets.device == 0 { throw .invalidValue(.device) }
            if offsets.sender == 0 { throw .invalidValue(.sender) }
        }
        let content = body.value(at: offsets.content)
        if body.loadUInt16(at: Int(offsets.kind)) == ContentKind.text.rawValue {
            offsets.sent.w = offsets.content &+ (try ContentRules.textOffset(in: content))
        }
        self.body = body
        self.offsets = offsets
    }

    /// Verifies the numbers of TLVs before any field (W-8): a content has at most 1,008, and a body without the relay's
    /// fields leaves room for them (W-27).
    private static func checkCounts(in body: RawSpan, budget: Int) throws(WireError) {
        try ContentRules.checkCounts(in: body, budget: budget)
        guard budget < relayFieldCount else { return }
        var reader = TLVReader(body)
        while let field = try reader.next() {
            if [.offset, .acceptedAt, .device, .sender].contains(field.tag) { return }
        }
        throw .tooManyTLVs(limit: TLVLimits.maxCount - relayFieldCount)
    }

    /// Returns the counter in a body with a valid structure, even if another value is invalid; nil if there is no valid
    /// counter. A refusal identifies the message by it.
    package static func counter(in body: RawSpan) -> UInt64? {
        number(.counter, in: body)
    }

    /// Returns the relay's offset in a body with a valid structure, even if another value is invalid; nil if there is
    /// no valid offset. A receiver skips the message by it.
    package static func offset(in body: RawSpan) -> UInt64? {
        number(.offset, in: body)
    }

    /// Returns the kind in a body with a valid structure; nil if there is none.
    package static func kind(in body: RawSpan) -> ContentKind? {
        var reader = TLVReader(body)
        while let field = try? reader.next() {
            if field.tag == .kind { return (try? field.uint16()).map { ContentKind(rawValue: $0) } }
        }
        return nil
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
    /// Returns the value of a field. The length of the value precedes its offset.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    func value(at offset: UInt32) -> RawSpan {
        let start = Int(offset)
        return extracting(start..<start &+ Int(loadUInt32(at: start &- 4)))
    }
}

extension UInt32 {
    /// Sets the offset of a field that a body may contain once (W-25).
    fileprivate mutating func fill(_ tag: Tag, _ offset: UInt32) throws(WireError) {
        guard self == 0 else { throw .duplicateField(tag) }
        self = offset
    }
}
