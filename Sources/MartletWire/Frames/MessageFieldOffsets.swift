/// The offsets of the field values in a message's body, in bytes; 0 for a missing field, since no value has this
/// offset.
///
/// The offsets have 32 bits, because a body has less than 4 GiB. They are stored in vectors, because the destruction of
/// a view with many stored properties calls the runtime.
@usableFromInline
struct MessageFieldOffsets: BitwiseCopyable {
    /// The offsets of counter, kind, content and text.
    @usableFromInline var sent = SIMD4<UInt32>()
    /// The offsets of offset, acceptedAt, device and sender: all present or all missing.
    @usableFromInline var stamped = SIMD4<UInt32>()
    @usableFromInline var timeToLive: UInt32 = 0

    @inlinable var counter: UInt32 { sent.x }
    @inlinable var kind: UInt32 { sent.y }
    @inlinable var content: UInt32 { sent.z }
    /// The offset of the text; 0 if the content is of another kind.
    @inlinable var text: UInt32 { sent.w }
    @inlinable var offset: UInt32 { stamped.x }
    @inlinable var acceptedAt: UInt32 { stamped.y }
    @inlinable var device: UInt32 { stamped.z }
    @inlinable var sender: UInt32 { stamped.w }

    init() {}

    /// Creates the offsets for the most frequent layout; nil for any other layout.
    ///
    /// This library writes nearly all bodies in one order: the relay's four fields or none of them, counter, kind, an
    /// optional time to live, and a content that consists of one text. Each field then has a known offset, at which tag
    /// and length are compared at once. ``MessageView/init(any:)`` parses any other body and determines its error. A
    /// test compares both parsers.
    @inline(__always)
    init?(usual body: RawSpan) {
        guard body.byteCount <= FrameHeader.largestBodyByteCount else { return nil }
        var start = 0
        if body.byteCount >= Self.stampByteCount, body.hasField(.offset, byteCount: 8, at: 0) {
            let name = Int(body.loadUInt32(at: 44))
            start = Self.stampByteCount &+ name
            guard body.loadUInt64(at: 6) >= 1, body.hasField(.acceptedAt, byteCount: 8, at: 14),
                body.hasField(.device, byteCount: 8, at: 28), body.loadUInt16(at: 42) == Tag.sender.rawValue,
                (1...AccountName.maxByteCount).contains(name), body.byteCount >= start,
                case let sender = body.extracting(Self.stampByteCount..<start),
                sender.isVisibleASCII || AccountName.accepts(sender)
            else { return nil }
            stamped = SIMD4(6, 20, 34, UInt32(truncatingIfNeeded: Self.stampByteCount))
        }
        guard body.byteCount &- start >= Self.minByteCount else { return nil }
        // The fields from the counter on.
        let rest = body.extracting(start..<body.byteCount)
        // The tag, the length and the value of the kind `text`.
        let ofText = UInt64(Tag.kind.rawValue) << 48 | 2 << 16 | UInt64(ContentKind.text.rawValue)
        guard rest.hasField(.counter, byteCount: 8, at: 0), rest.loadUInt64(at: 6) >= 1,
            rest.loadUInt64(at: 14) == ofText
        else { return nil }
        var end = 22
        if rest.hasField(.timeToLive, byteCount: 4, at: end) {
            timeToLive = UInt32(truncatingIfNeeded: start &+ end &+ TLVLimits.headByteCount)
            end &+= 10
            guard rest.byteCount &- end >= Self.minContentByteCount else { return nil }
        }
        let contentStart = end &+ TLVLimits.headByteCount
        let textStart = contentStart &+ TLVLimits.headByteCount
        guard rest.hasField(.content, byteCount: rest.byteCount &- contentStart, at: end),
            rest.hasField(.text, byteCount: rest.byteCount &- textStart, at: contentStart),
            rest.extracting(textStart..<rest.byteCount).isValidUTF8
        else { return nil }
        sent =
            SIMD4(6, 20, UInt32(truncatingIfNeeded: contentStart), UInt32(truncatingIfNeeded: textStart))
            &+ UInt32(truncatingIfNeeded: start)
    }

    /// The offsets ``sent`` of a client's text message without a time to live.
    static var ofClientText: SIMD4<UInt32> { SIMD4(6, 20, 28, 34) }
    /// The number of bytes of a field with a 64-bit integer.
    private static var numberByteCount: Int { TLVLimits.headByteCount &+ 8 }
    /// The number of bytes of offset, acceptedAt, device and the sender's head.
    private static var stampByteCount: Int { 3 &* numberByteCount &+ TLVLimits.headByteCount }
    /// The minimum number of bytes of the content's head, the text's head and the text.
    private static var minContentByteCount: Int { 2 &* TLVLimits.headByteCount &+ minTextByteCount }
    /// The minimum number of bytes of a text in this layout. The head and the value of a shorter one have less than the
    /// eight bytes that are loaded at once.
    static var minTextByteCount: Int { 2 }
    /// The minimum number of bytes of counter, kind and content.
    private static var minByteCount: Int { numberByteCount &+ 8 &+ minContentByteCount }
}

extension RawSpan {
    /// Returns whether a field with a tag and a length begins at `offset`, at which at least eight bytes exist.
    @inline(__always)
    fileprivate func hasField(_ tag: Tag, byteCount: Int, at offset: Int) -> Bool {
        loadUInt64(at: offset) >> 16 == UInt64(tag.rawValue) << 32 | UInt64(truncatingIfNeeded: byteCount)
    }
}
