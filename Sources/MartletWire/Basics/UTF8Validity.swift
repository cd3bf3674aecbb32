extension RawSpan {
    /// A Boolean value that indicates whether the bytes are well-formed UTF-8 (Unicode 16, table 3-7). The check
    /// allocates nothing.
    ///
    /// `UTF8Span` of the standard library is not available on the oldest supported systems.
    public var isValidUTF8: Bool { isTextUTF8 }

    /// The same check, inlined for callers in the hot path. ASCII, the most frequent text, requires no call.
    @inline(__always)
    var isTextUTF8: Bool {
        let start = asciiPrefixByteCount
        return start == byteCount || isValidUTF8(from: start)
    }

    /// A Boolean value that indicates whether the span is non-empty and contains only printable ASCII, U+0020 included.
    @inline(__always)
    var isPrintableASCII: Bool { isASCII(from: 0x20) }

    /// A Boolean value that indicates whether the span is non-empty and contains only printable ASCII other than
    /// U+0020, as most names do.
    @inline(__always)
    var isVisibleASCII: Bool { isASCII(from: 0x21) }

    /// Returns whether the span is non-empty and all its bytes lie between `least` and 0x7E.
    @inline(__always)
    private func isASCII(from least: UInt8) -> Bool {
        var test = ASCIITest(from: least)
        switch byteCount {
        case 8...16:
            test.add(word(at: 0))
        case 17...32:
            test.add(word(at: 0))
            test.add(word(at: 8))
            test.add(word(at: byteCount &- 16))
        case 33...:
            for offset in stride(from: 0, to: byteCount &- 8, by: 8) { test.add(word(at: offset)) }
        default: return isShortASCII(from: least)
        }
        // The last eight bytes overlap the previous word if the length is not a multiple of eight.
        test.add(word(at: byteCount &- 8))
        return test.isPassed
    }

    @inline(never)
    private func isShortASCII(from least: UInt8) -> Bool {
        for offset in 0..<byteCount where !(least..<0x7F).contains(loadUInt8(at: offset)) { return false }
        return !isEmpty
    }

    /// The number of leading bytes that are known to be ASCII. It equals `byteCount` if and only if all bytes are
    /// ASCII.
    @inline(__always)
    private var asciiPrefixByteCount: Int {
        let high: UInt64 = 0x8080_8080_8080_8080
        var offset = 0
        if byteCount >= 32 {
            while byteCount &- offset > 32 {
                if fourWords(at: offset) & high != 0 { return offset }
                offset &+= 32
            }
            // The last 32 bytes overlap the previous ones if the length is not a multiple of 32.
            return fourWords(at: byteCount &- 32) & high == 0 ? byteCount : offset
        }
        if byteCount >= 8 {
            while byteCount &- offset > 8 {
                if word(at: offset) & high != 0 { return offset }
                offset &+= 8
            }
            return word(at: byteCount &- 8) & high == 0 ? byteCount : offset
        }
        while offset < byteCount, loadUInt8(at: offset) < 0x80 { offset &+= 1 }
        return offset
    }

    /// Returns eight bytes in the byte order of the machine, without a bounds check. The callers have compared `offset`
    /// with the length.
    @inline(__always)
    private func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }

    /// Returns the bitwise OR of the four words at `offset`.
    @inline(__always)
    private func fourWords(at offset: Int) -> UInt64 {
        word(at: offset) | word(at: offset &+ 8) | word(at: offset &+ 16) | word(at: offset &+ 24)
    }

    @inline(never)
    private func isValidUTF8(from start: Int) -> Bool {
        var offset = start
        while offset < byteCount {
            if byteCount - offset >= 8, loadUInt64(at: offset) & 0x8080_8080_8080_8080 == 0 {
                offset += 8
                continue
            }
            let length = wellFormedSequenceLength(at: offset)
            if length == 0 { return false }
            offset += length
        }
        return true
    }

    /// Returns the byte count of the UTF-8 sequence at `offset`, or 0 if it is ill-formed.
    private func wellFormedSequenceLength(at offset: Int) -> Int {
        let lead = loadUInt8(at: offset)
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard byteCount - offset >= length, second.contains(loadUInt8(at: offset + 1)) else { return 0 }
        for next in 2..<max(length, 2) where loadUInt8(at: offset + next) & 0xC0 != 0x80 { return 0 }
        return length
    }
}

/// Tests eight bytes at once for printable ASCII.
///
/// A byte is printable if adding `0x80 - least` sets its high bit and adding 1 does not. No sum carries into the next
/// byte.
private struct ASCIITest {
    private static var high: UInt64 { 0x8080_8080_8080_8080 }
    private var all = high
    private var none: UInt64 = 0
    /// The number that sets the high bit of a byte of at least `least`, repeated in every byte.
    private let addend: UInt64

    @inline(__always)
    init(from least: UInt8) {
        addend = 0x0101_0101_0101_0101 &* UInt64(0x80 &- least)
    }

    @inline(__always)
    mutating func add(_ word: UInt64) {
        let low = word & ~Self.high
        all &= low &+ addend
        none |= word | (low &+ 0x0101_0101_0101_0101)
    }

    @inline(__always)
    var isPassed: Bool { all & Self.high & ~none == Self.high }
}
