/// Where the fields of the usual message lie, found in one go.
///
/// Nearly every body is written by this library: the relay's four fields or none of them, counter, kind, perhaps a time
/// to live, and a content that is one text, in this order. Then each field lies where the one before it says, and tag
/// and length are compared at once. Whatever is not exactly so is left to ``MessageView/init(any:)``, which alone says
/// what is wrong with it; a test holds the two against each other.
struct UsualMessage {
    /// 0 when the relay's fields are not there.
    private(set) var offset: UInt64 = 0
    private(set) var acceptedAt: UInt64 = 0
    private(set) var device: UInt64 = 0
    private(set) var sender = 0..<0
    let counter: UInt64
    /// In milliseconds.
    private(set) var timeToLive: UInt32?
    /// The content's TLVs end with the body.
    let contentStart: Int
    /// As does its text.
    var textStart: Int { contentStart &+ TLVLimits.headByteCount }

    /// Bytes of a field whose value is a 64-bit integer.
    private static var numberByteCount: Int { TLVLimits.headByteCount &+ 8 }
    /// Bytes of offset, acceptedAt, device and the sender's head.
    private static var stampByteCount: Int { 3 &* numberByteCount &+ TLVLimits.headByteCount }
    /// Bytes of a content with a text of two bytes: of its head eight are looked at.
    private static var leastContentByteCount: Int { 2 &* TLVLimits.headByteCount &+ 2 }
    /// Bytes of counter, kind, and that.
    private static var leastByteCount: Int { numberByteCount &+ 8 &+ leastContentByteCount }

    /// Nil when the body is not the usual one.
    @inline(__always)
    init?(_ body: RawSpan) {
        // A length has 32 bits.
        guard body.byteCount <= FrameHeader.largestBodyByteCount else { return nil }
        var start = 0
        if body.byteCount >= Self.stampByteCount, body.opens(.offset, byteCount: 8, at: 0) {
            offset = body.loadUInt64(at: 6)
            acceptedAt = body.loadUInt64(at: 20)
            device = body.loadUInt64(at: 34)
            let name = Int(body.loadUInt32(at: 44))
            start = Self.stampByteCount &+ name
            guard offset >= 1, body.opens(.acceptedAt, byteCount: 8, at: 14),
                body.opens(.device, byteCount: 8, at: 28), body.loadUInt16(at: 42) == Tag.sender.rawValue,
                (1...AccountName.maxByteCount).contains(name), body.byteCount >= start
            else { return nil }
            sender = Self.stampByteCount..<start
            guard body.extracting(sender).isPrintableASCII else { return nil }
        }
        guard body.byteCount &- start >= Self.leastByteCount, body.opens(.counter, byteCount: 8, at: start) else {
            return nil
        }
        counter = body.loadUInt64(at: start &+ 6)
        // Tag, length and value.
        let kind = UInt64(Tag.kind.rawValue) << 48 | 2 << 16 | UInt64(ContentKind.text.rawValue)
        guard counter >= 1, body.loadUInt64(at: start &+ 14) == kind else { return nil }
        start &+= 22
        if body.opens(.timeToLive, byteCount: 4, at: start) {
            timeToLive = body.loadUInt32(at: start &+ 6)
            start &+= 10
            guard body.byteCount &- start >= Self.leastContentByteCount else { return nil }
        }
        contentStart = start &+ TLVLimits.headByteCount
        guard body.opens(.content, byteCount: body.byteCount &- contentStart, at: start),
            body.opens(.text, byteCount: body.byteCount &- textStart, at: contentStart),
            body.extracting(textStart..<body.byteCount).isValidUTF8
        else { return nil }
    }
}

extension RawSpan {
    /// Whether a field of that tag and length begins at `offset`; at least eight bytes must follow there.
    @inline(__always)
    fileprivate func opens(_ tag: Tag, byteCount: Int, at offset: Int) -> Bool {
        loadUInt64(at: offset) >> 16 == UInt64(tag.rawValue) << 32 | UInt64(truncatingIfNeeded: byteCount)
    }
}
