/// A writer that appends TLVs to a buffer. `removeAll()` keeps the buffer for further use.
///
/// A value of more than 4 GiB traps, because values are the program's own.
public struct TLVWriter: ~Copyable, Sendable {
    /// The maximum number of bytes of a buffer that `removeAll()` keeps.
    package static var maxKeptByteCount: Int { 4096 }
    /// The minimum size of a buffer, in bytes.
    private static var minCapacity: Int { 256 }
    /// The number of bytes behind the capacity. The head of a field has six bytes and is stored as eight, and the
    /// following bytes overwrite the last two.
    private static var slackByteCount: Int { 2 }

    /// The number of bytes written.
    public private(set) var byteCount = 0
    private var memory = ByteMemory(byteCount: 0)

    /// Creates an empty writer without a buffer.
    public init() {}

    /// Creates an empty writer with capacity for `byteCount` bytes.
    public init(reserving byteCount: Int) {
        memory = Self.larger(memory, 0, by: byteCount)
    }

    /// A copy of the bytes written.
    public var bytes: [UInt8] { [UInt8](copying: rawBytes) }

    /// The bytes written, borrowed.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { memory.bytes(0..<byteCount) }
    }

    /// Removes all bytes, and releases a buffer of more than `maxKeptByteCount` bytes.
    public mutating func removeAll() {
        removeAll(keeping: Self.maxKeptByteCount)
    }

    /// Removes all bytes, and releases a buffer of more than `maxByteCount` bytes.
    mutating func removeAll(keeping maxByteCount: Int) {
        byteCount = 0
        if memory.byteCount > maxByteCount + Self.slackByteCount { memory = ByteMemory(byteCount: 0) }
    }

    /// Appends a field with a one-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint8 value: UInt8) {
        appendHead(tag, followedBy: 1)
        appendRaw(value)
    }

    /// Appends a field with a two-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint16 value: UInt16) {
        let place = place(for: TLVLimits.headByteCount &+ 2)
        memory.store(bigEndian: Self.head(tag, 2) | UInt64(value), at: place)
    }

    /// Appends a field with a four-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint32 value: UInt32) {
        let place = place(for: TLVLimits.headByteCount &+ 4)
        memory.store(bigEndian: Self.head(tag, 4), at: place)
        memory.store(bigEndian: value, at: place &+ TLVLimits.headByteCount)
    }

    /// Appends a field with an eight-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint64 value: UInt64) {
        let place = place(for: TLVLimits.headByteCount &+ 8)
        memory.store(bigEndian: Self.head(tag, 8), at: place)
        memory.store(bigEndian: value, at: place &+ TLVLimits.headByteCount)
    }

    /// Appends a field with text as UTF-8.
    @inline(__always)
    public mutating func append(_ tag: Tag, string value: String) {
        value.withUTF8Bytes { append(tag, bytes: $0) }
    }

    /// Appends a field with bytes.
    @inline(__always)
    public mutating func append(_ tag: Tag, bytes value: RawSpan) {
        appendHead(tag, followedBy: value.byteCount)
        append(encoded: value)
    }

    /// Appends a field with bytes.
    public mutating func append(_ tag: Tag, bytes value: [UInt8]) {
        append(tag, bytes: value.rawBytes)
    }

    /// Appends encoded TLVs unchanged.
    @inline(__always)
    package mutating func append(encoded tlvs: RawSpan) {
        let place = place(for: tlvs.byteCount)
        memory.copy(tlvs, to: place)
    }

    /// Appends a container. Its value consists of the TLVs that `body` appends to the writer.
    ///
    /// - Precondition: The tag is that of a container, and `body` removes no bytes.
    public mutating func container<Failure: Error>(
        _ tag: Tag, _ body: (inout TLVWriter) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(tag.isContainer, "the tag is not a container's")
        appendHead(tag, followedBy: 0)
        let start = byteCount
        try body(&self)
        precondition(byteCount >= start, "the container was removed")
        let length = UInt32(byteCount &- start)
        memory.store(bigEndian: length, at: start &- 4)
    }

    /// Appends the head of a field. The caller appends the value.
    @inline(__always)
    mutating func appendHead(_ tag: Tag, followedBy valueByteCount: Int) {
        let place = place(for: TLVLimits.headByteCount)
        memory.store(bigEndian: Self.head(tag, valueByteCount), at: place)
    }

    /// Appends an integer as a part of a value.
    @inline(__always)
    mutating func appendRaw<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        let place = place(for: MemoryLayout<Value>.size)
        memory.store(bigEndian: value, at: place)
    }

    /// Returns tag and length in the upper 48 of 64 bits.
    @inline(__always)
    private static func head(_ tag: Tag, _ byteCount: Int) -> UInt64 {
        UInt64(tag.rawValue) << 48 | UInt64(UInt32(byteCount)) << 16
    }

    /// Returns the address of the next `count` bytes, which count as written.
    @inline(__always)
    private mutating func place(for count: Int) -> Int {
        if count > memory.byteCount &- byteCount &- Self.slackByteCount {
            memory = Self.larger(memory, byteCount, by: count)
        }
        defer { byteCount &+= count }
        return byteCount
    }

    /// Returns a larger buffer with the bytes written, and its capacity.
    ///
    /// The function is static so that the optimizer can keep the writer's properties in registers.
    @inline(never)
    private static func larger(_ memory: borrowing ByteMemory, _ byteCount: Int, by count: Int) -> ByteMemory {
        precondition(count >= 0, "the byte count is negative")
        var larger = ByteMemory(
            byteCount: max(minCapacity, 2 * memory.byteCount, byteCount + count) + slackByteCount)
        larger.copy(memory.bytes(0..<byteCount), to: 0)
        return larger
    }
}
