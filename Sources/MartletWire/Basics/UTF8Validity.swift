extension RawSpan {
    /// Whether the bytes are well-formed UTF-8 (Unicode 16, table 3-7). Allocates nothing.
    ///
    /// The standard library's `UTF8Span` would do, but not on the oldest systems that are supported.
    public var isValidUTF8: Bool {
        var offset = 0
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
