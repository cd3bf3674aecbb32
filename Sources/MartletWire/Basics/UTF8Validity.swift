extension RawSpan {
    /// Whether the bytes are well-formed UTF-8 (Unicode 16, table 3-7). Allocates nothing.
    ///
    /// The standard library's `UTF8Span` would do, but not on the oldest systems that are supported.
    public var isValidUTF8: Bool {
        let start = asciiPrefixByteCount
        return start == byteCount || isValidUTF8(from: start)
    }

    /// Whether all bytes are ASCII but no control character, which is what most names are.
    ///
    /// Such a byte gets its high bit by adding 0x60 and does not get it by adding 1; no byte's sum reaches the next.
    var isPrintableASCII: Bool {
        let high: UInt64 = 0x8080_8080_8080_8080
        var (all, none) = (high, UInt64(0))
        func look(at word: UInt64) {
            let low = word & ~high
            all &= low &+ 0x6060_6060_6060_6060
            none |= word | (low &+ 0x0101_0101_0101_0101)
        }
        var offset = 0
        while byteCount &- offset >= 8 {
            look(at: loadUInt64(at: offset))
            offset &+= 8
        }
        if offset < byteCount {
            if offset > 0 {
                // The last eight bytes, some of which have been looked at.
                look(at: loadUInt64(at: byteCount &- 8))
            } else {
                for offset in 0..<byteCount { look(at: UInt64(loadUInt8(at: offset)) | 0x2020_2020_2020_2000) }
            }
        }
        return all == high && none & high == 0
    }

    /// How many bytes at the start are certainly ASCII; all of them if all are.
    @inline(__always)
    private var asciiPrefixByteCount: Int {
        let high: UInt64 = 0x8080_8080_8080_8080
        var offset = 0
        while byteCount &- offset >= 32 {
            let first = loadUInt64(at: offset) | loadUInt64(at: offset &+ 8)
            let second = loadUInt64(at: offset &+ 16) | loadUInt64(at: offset &+ 24)
            if (first | second) & high != 0 { return offset }
            offset &+= 32
        }
        while byteCount &- offset >= 8 {
            if loadUInt64(at: offset) & high != 0 { return offset }
            offset &+= 8
        }
        if offset > 0, offset < byteCount {
            // The last eight bytes, of which the first have been looked at.
            return loadUInt64(at: byteCount &- 8) & high == 0 ? byteCount : offset
        }
        while offset < byteCount, loadUInt8(at: offset) < 0x80 { offset &+= 1 }
        return offset
    }

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

    /// The byte count of the one sequence at `offset`, 0 when it is ill-formed.
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
