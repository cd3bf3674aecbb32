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

    private mutating func append(_ tag: Tag, integer value: some FixedWidthInteger & BitwiseCopyable) {
        appendHead(tag, byteCount: value.bitWidth / 8)
        bytes.append(bigEndian: value)
    }

    /// Appends text as UTF-8.
    public mutating func append(_ tag: Tag, string value: String) {
        let utf8 = value.utf8
        appendHead(tag, byteCount: utf8.count)
        bytes.append(contentsOf: utf8)
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
        for index in 0..<4 {
            bytes[start - 4 + index] = UInt8(truncatingIfNeeded: byteCount >> UInt32(24 - 8 * index))
        }
    }

    mutating func appendHead(_ tag: Tag, byteCount: Int) {
        bytes.append(bigEndian: tag.rawValue)
        bytes.append(bigEndian: UInt32(byteCount))
    }
}
