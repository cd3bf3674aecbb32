/// Appends TLVs to a growing array of bytes.
///
/// Values are the program's own, so a value too long for its 32-bit length (4 GiB) is a trap, not an error.
public struct TLVWriter: Sendable {
    /// What was written so far.
    public internal(set) var bytes: [UInt8] = []

    /// An empty writer.
    public init() {}

    /// An empty writer with room for `byteCount` bytes.
    public init(reserving byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Appends a one-byte integer.
    public mutating func append(_ tag: Tag, uint8 value: UInt8) { append(tag, integer: value) }

    /// Appends a two-byte integer.
    public mutating func append(_ tag: Tag, uint16 value: UInt16) { append(tag, integer: value) }

    /// Appends a four-byte integer.
    public mutating func append(_ tag: Tag, uint32 value: UInt32) { append(tag, integer: value) }

    /// Appends an eight-byte integer.
    public mutating func append(_ tag: Tag, uint64 value: UInt64) { append(tag, integer: value) }

    private mutating func append(_ tag: Tag, integer value: some FixedWidthInteger & UnsignedInteger) {
        let byteCount = value.bitWidth / 8
        append(
            UInt128(head(tag, byteCount: byteCount)) << 64 | UInt128(value) << UInt128(80 - value.bitWidth),
            byteCount: TLVLimits.headByteCount + byteCount)
    }

    /// Appends text as UTF-8.
    public mutating func append(_ tag: Tag, string value: String) {
        var value = value
        value.withUTF8 { utf8 in
            appendHead(tag, byteCount: utf8.count)
            unsafe bytes.append(contentsOf: utf8)
        }
    }

    /// Appends bytes.
    public mutating func append(_ tag: Tag, bytes value: RawSpan) {
        appendHead(tag, byteCount: value.byteCount)
        bytes.append(bytes: value)
    }

    /// Appends bytes.
    public mutating func append(_ tag: Tag, bytes value: [UInt8]) {
        appendHead(tag, byteCount: value.count)
        bytes.append(contentsOf: value)
    }

    /// Appends TLVs that are encoded already, unchanged.
    public mutating func append(encoded tlvs: RawSpan) {
        bytes.append(bytes: tlvs)
    }

    /// Appends a container whose value is what `body` appends to the writer.
    public mutating func container<Failure: Error>(
        _ tag: Tag, _ body: (inout TLVWriter) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(tag.isContainer, "the tag is not a container's")
        appendHead(tag, byteCount: 0)
        let start = bytes.count
        try body(&self)
        let byteCount = UInt32(bytes.count - start)
        unsafe bytes.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: byteCount.bigEndian, toByteOffset: start - 4, as: UInt32.self)
        }
    }

    mutating func appendHead(_ tag: Tag, byteCount: Int) {
        append(head(tag, byteCount: byteCount), byteCount: TLVLimits.headByteCount)
    }

    /// Tag and length, in the upper 48 of 64 bits.
    private func head(_ tag: Tag, byteCount: Int) -> UInt64 {
        UInt64(tag.rawValue) << 48 | UInt64(UInt32(byteCount)) << 16
    }

    /// Appends the first bytes of a number, most significant byte first, in one go.
    private mutating func append(_ number: some FixedWidthInteger, byteCount: Int) {
        unsafe withUnsafeBytes(of: number.bigEndian) {
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<byteCount]))
        }
    }
}
