/// Where in a message's body the values of its fields begin, in bytes; 0 is where none can and stands for a field that
/// is not there.
///
/// A body has less than 4 GiB, as have its limits. The numbers lie in vectors because a view of many parts is destroyed
/// by a call into the runtime.
@usableFromInline
struct MessagePlaces: BitwiseCopyable {
    /// Counter, kind, content and text.
    @usableFromInline var sent = SIMD4<UInt32>()
    /// Offset, acceptedAt, device and sender; all are there or none.
    @usableFromInline var stamped = SIMD4<UInt32>()
    @usableFromInline var timeToLive: UInt32 = 0

    @inlinable var counter: UInt32 { sent.x }
    @inlinable var kind: UInt32 { sent.y }
    @inlinable var content: UInt32 { sent.z }
    /// The one text of a content of that kind.
    @inlinable var text: UInt32 { sent.w }
    @inlinable var offset: UInt32 { stamped.x }
    @inlinable var acceptedAt: UInt32 { stamped.y }
    @inlinable var device: UInt32 { stamped.z }
    @inlinable var sender: UInt32 { stamped.w }

    init() {}

    /// Finds the fields of the usual message in one go; nil when the body is not that.
    ///
    /// Nearly every body is written by this library: the relay's four fields or none of them, counter, kind, perhaps a
    /// time to live, and a content that is one text, in this order. Then each field lies where the one before it says,
    /// and tag and length are compared at once. Whatever is not exactly so is left to ``MessageView/init(any:)``, which
    /// alone says what is wrong with it; a test holds the two against each other.
    @inline(__always)
    init?(usual body: RawSpan) {
        guard body.byteCount <= FrameHeader.largestBodyByteCount else { return nil }
        var start = 0
        if body.byteCount >= Self.stampByteCount, body.opens(.offset, byteCount: 8, at: 0) {
            let name = Int(body.loadUInt32(at: 44))
            start = Self.stampByteCount &+ name
            guard body.loadUInt64(at: 6) >= 1, body.opens(.acceptedAt, byteCount: 8, at: 14),
                body.opens(.device, byteCount: 8, at: 28), body.loadUInt16(at: 42) == Tag.sender.rawValue,
                (1...AccountName.maxByteCount).contains(name), body.byteCount >= start,
                body.extracting(Self.stampByteCount..<start).isVisibleASCII
            else { return nil }
            stamped = SIMD4(6, 20, 34, UInt32(truncatingIfNeeded: Self.stampByteCount))
        }
        guard body.byteCount &- start >= Self.leastByteCount else { return nil }
        // From the counter on.
        let rest = body.extracting(start..<body.byteCount)
        // Tag, length and value.
        let ofText = UInt64(Tag.kind.rawValue) << 48 | 2 << 16 | UInt64(ContentKind.text.rawValue)
        guard rest.opens(.counter, byteCount: 8, at: 0), rest.loadUInt64(at: 6) >= 1, rest.loadUInt64(at: 14) == ofText
        else { return nil }
        var end = 22
        if rest.opens(.timeToLive, byteCount: 4, at: end) {
            timeToLive = UInt32(truncatingIfNeeded: start &+ end &+ TLVLimits.headByteCount)
            end &+= 10
            guard rest.byteCount &- end >= Self.leastContentByteCount else { return nil }
        }
        let contentStart = end &+ TLVLimits.headByteCount
        let textStart = contentStart &+ TLVLimits.headByteCount
        guard rest.opens(.content, byteCount: rest.byteCount &- contentStart, at: end),
            rest.opens(.text, byteCount: rest.byteCount &- textStart, at: contentStart),
            rest.extracting(textStart..<rest.byteCount).isValidUTF8
        else { return nil }
        sent =
            SIMD4(6, 20, UInt32(truncatingIfNeeded: contentStart), UInt32(truncatingIfNeeded: textStart))
            &+ UInt32(truncatingIfNeeded: start)
    }

    /// ``sent`` of a client's message that is one text and has no time to live.
    static var ofClientText: SIMD4<UInt32> { SIMD4(6, 20, 28, 34) }
    /// Bytes of a field whose value is a 64-bit integer.
    private static var numberByteCount: Int { TLVLimits.headByteCount &+ 8 }
    /// Bytes of offset, acceptedAt, device and the sender's head.
    private static var stampByteCount: Int { 3 &* numberByteCount &+ TLVLimits.headByteCount }
    /// Bytes of a content with the shortest text.
    private static var leastContentByteCount: Int { 2 &* TLVLimits.headByteCount &+ leastTextByteCount }
    /// Bytes of a text that is looked for; of a shorter one's head and value there are not eight.
    static var leastTextByteCount: Int { 2 }
    /// Bytes of counter, kind, and that.
    private static var leastByteCount: Int { numberByteCount &+ 8 &+ leastContentByteCount }
}

extension RawSpan {
    /// Whether a field of that tag and length begins at `offset`; at least eight bytes must follow there.
    @inline(__always)
    fileprivate func opens(_ tag: Tag, byteCount: Int, at offset: Int) -> Bool {
        loadUInt64(at: offset) >> 16 == UInt64(tag.rawValue) << 32 | UInt64(truncatingIfNeeded: byteCount)
    }
}
