extension OutputRawSpan {
    /// Appends a number in groups of 7 bits, the least significant group first (W-80).
    @_lifetime(self: copy self)
    mutating func append(varint value: UInt64) {
        var rest = value
        while rest > 0x7F {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a difference modulo 2⁶⁴ in zigzag encoding, in which small differences of either sign are short.
    @_lifetime(self: copy self)
    mutating func append(signedVarint difference: UInt64) {
        let number = Int64(bitPattern: difference)
        append(varint: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    /// Inserts the number of bytes from `offset` to the end before these bytes, as a varint.
    @_lifetime(self: copy self)
    mutating func insertByteCount(at offset: Int) {
        let byteCount = UInt64(byteCount - offset)
        let numberByteCount = max(1, (70 - byteCount.leadingZeroBitCount) / 7)
        moveTail(from: offset, by: numberByteCount)
        for index in 0..<numberByteCount {
            let group = UInt8(truncatingIfNeeded: byteCount >> UInt64(7 * index)) & 0x7F
            store(bigEndian: index + 1 < numberByteCount ? group | 0x80 : group, at: offset + index)
        }
    }

    /// Appends text as UTF-16, most significant byte first (RFC 2781).
    @_lifetime(self: copy self)
    mutating func append(utf16 text: RawSpan) {
        for unit in String(validated: text).utf16 { append(bigEndian: unit) }
    }
}

extension RawSpan {
    /// Whether the text has fewer bytes in UTF-16.
    var isShorterInUTF16: Bool {
        // UTF-16 is never shorter for ASCII.
        guard byteCount > 2, !isASCII else { return false }
        return 2 * String(validated: self).utf16.count < byteCount
    }
}

/// A cursor that reads the payload of a packet. Every error is `malformedPacket` (W-79).
struct PacketCursor: ~Escapable {
    private let bytes: RawSpan
    private(set) var offset = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { offset == bytes.byteCount }
    var restByteCount: Int { bytes.byteCount &- offset }
    var fault: WireError { .malformedPacket(offset: offset) }

    mutating func uint8() throws(WireError) -> UInt8 {
        guard offset < bytes.byteCount else { throw fault }
        defer { offset &+= 1 }
        return bytes.loadUInt8(at: offset)
    }

    mutating func uint16() throws(WireError) -> UInt16 {
        guard restByteCount >= 2 else { throw fault }
        defer { offset &+= 2 }
        return bytes.loadUInt16(at: offset)
    }

    mutating func uint32() throws(WireError) -> UInt32 {
        guard restByteCount >= 4 else { throw fault }
        defer { offset &+= 4 }
        return bytes.loadUInt32(at: offset)
    }

    mutating func uint64() throws(WireError) -> UInt64 {
        guard restByteCount >= 8 else { throw fault }
        defer { offset &+= 8 }
        return bytes.loadUInt64(at: offset)
    }

    mutating func varint() throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            let byte = try uint8()
            let group = UInt64(byte & 0x7F)
            // The tenth byte holds the one remaining bit of 64.
            guard shift < 63 || group <= 1 else { throw fault }
            value |= group << shift
            if byte < 0x80 { return value }
        }
        throw fault
    }

    /// Reads a number that must fit into a narrower type.
    mutating func varint<Number: FixedWidthInteger & UnsignedInteger>(
        as: Number.Type
    ) throws(WireError) -> Number {
        guard let number = Number(exactly: try varint()) else { throw fault }
        return number
    }

    /// Reads a difference modulo 2⁶⁴ in zigzag encoding.
    mutating func signedVarint() throws(WireError) -> UInt64 {
        let number = try varint()
        return (number >> 1) ^ (0 &- (number & 1))
    }

    /// Returns the next `byteCount` bytes, borrowed.
    @_lifetime(copy self)
    mutating func bytes(_ byteCount: UInt64) throws(WireError) -> RawSpan {
        guard byteCount <= UInt64(restByteCount) else { throw fault }
        let start = offset
        offset &+= Int(byteCount)
        return bytes.extracting(start..<offset)
    }

    /// Reads the remaining bytes as UTF-16, most significant byte first, and returns them as UTF-8.
    mutating func utf16() throws(WireError) -> [UInt8] {
        guard restByteCount % 2 == 0 else { throw fault }
        var units: [UInt16] = []
        units.reserveCapacity(restByteCount / 2)
        while !isAtEnd { units.append(try uint16()) }
        guard let text = String(validating: units, as: UTF16.self) else { throw fault }
        return Array(text.utf8)
    }

    /// Returns the remaining bytes, borrowed.
    @_lifetime(copy self)
    mutating func rest() -> RawSpan {
        let start = offset
        offset = bytes.byteCount
        return bytes.extracting(start..<offset)
    }
}
