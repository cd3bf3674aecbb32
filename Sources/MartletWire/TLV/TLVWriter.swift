/// Appends TLVs to memory of its own, which grows when it must and serves again after `removeAll()`.
///
/// Values are the program's own, so a value too long for its 32-bit length (4 GiB) is a trap, not an error.
public struct TLVWriter: ~Copyable, Sendable {
    /// The memory that `removeAll()` keeps at the most, in bytes: a long value's is not kept for short ones.
    public static var maxKeptByteCount: Int { 4096 }
    /// The least memory that is taken once something is written, in bytes.
    private static var leastCapacity: Int { 256 }
    /// A head is stored as eight bytes, and what follows is stored over the last two: so many bytes are always free.
    private static var slackByteCount: Int { 2 }

    /// How many bytes were written.
    public private(set) var byteCount = 0
    private var memory = ByteMemory(byteCount: 0)

    /// An empty writer without memory.
    public init() {}

    /// An empty writer with room for `byteCount` bytes.
    public init(reserving byteCount: Int) {
        memory = Self.larger(memory, 0, by: byteCount)
    }

    /// A copy of what was written.
    public var bytes: [UInt8] { [UInt8](copying: rawBytes) }

    /// What was written, where it lies.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { memory.bytes(0..<byteCount) }
    }

    /// Lets go of what was written. Memory of up to ``maxKeptByteCount`` bytes stays.
    public mutating func removeAll() {
        removeAll(keeping: Self.maxKeptByteCount)
    }

    /// The same with another bound.
    mutating func removeAll(keeping maxByteCount: Int) {
        byteCount = 0
        if memory.byteCount > maxByteCount + Self.slackByteCount { memory = ByteMemory(byteCount: 0) }
    }

    /// Appends a one-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint8 value: UInt8) {
        appendHead(tag, followedBy: 1)
        appendRaw(value)
    }

    /// Appends a two-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint16 value: UInt16) {
        let place = place(for: TLVLimits.headByteCount &+ 2)
        memory.store(bigEndian: Self.head(tag, 2) | UInt64(value), at: place)
    }

    /// Appends a four-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint32 value: UInt32) {
        let place = place(for: TLVLimits.headByteCount &+ 4)
        memory.store(bigEndian: Self.head(tag, 4), at: place)
        memory.store(bigEndian: value, at: place &+ TLVLimits.headByteCount)
    }

    /// Appends an eight-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint64 value: UInt64) {
        let place = place(for: TLVLimits.headByteCount &+ 8)
        memory.store(bigEndian: Self.head(tag, 8), at: place)
        memory.store(bigEndian: value, at: place &+ TLVLimits.headByteCount)
    }

    /// Appends text as UTF-8.
    @inline(__always)
    public mutating func append(_ tag: Tag, string value: String) {
        value.withUTF8Bytes { append(tag, bytes: $0) }
    }

    /// Appends bytes.
    @inline(__always)
    public mutating func append(_ tag: Tag, bytes value: RawSpan) {
        appendHead(tag, followedBy: value.byteCount)
        append(encoded: value)
    }

    /// Appends bytes.
    public mutating func append(_ tag: Tag, bytes value: [UInt8]) {
        append(tag, bytes: value.rawBytes)
    }

    /// Appends TLVs that are encoded already, unchanged.
    @inline(__always)
    public mutating func append(encoded tlvs: RawSpan) {
        let place = place(for: tlvs.byteCount)
        memory.copy(tlvs, to: place)
    }

    /// Appends a container whose value is what `body` appends to the writer.
    public mutating func container<Failure: Error>(
        _ tag: Tag, _ body: (inout TLVWriter) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(tag.isContainer, "the tag is not a container's")
        appendHead(tag, followedBy: 0)
        let start = byteCount
        try body(&self)
        precondition(byteCount >= start, "the container was taken back")
        let length = UInt32(byteCount &- start)
        memory.store(bigEndian: length, at: start &- 4)
    }

    /// Appends the head of a field whose value the caller appends next.
    @inline(__always)
    mutating func appendHead(_ tag: Tag, followedBy valueByteCount: Int) {
        let place = place(for: TLVLimits.headByteCount)
        memory.store(bigEndian: Self.head(tag, valueByteCount), at: place)
    }

    /// Appends a part of a value.
    @inline(__always)
    mutating func appendRaw<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        let place = place(for: MemoryLayout<Value>.size)
        memory.store(bigEndian: value, at: place)
    }

    /// Tag and length, in the upper 48 of 64 bits.
    @inline(__always)
    private static func head(_ tag: Tag, _ byteCount: Int) -> UInt64 {
        UInt64(tag.rawValue) << 48 | UInt64(UInt32(byteCount)) << 16
    }

    /// The offset at which the next `count` bytes are stored.
    @inline(__always)
    private mutating func place(for count: Int) -> Int {
        if count > memory.byteCount &- byteCount &- Self.slackByteCount {
            memory = Self.larger(memory, byteCount, by: count)
        }
        defer { byteCount &+= count }
        return byteCount
    }

    /// Larger memory with what was written.
    ///
    /// Not a method: a writer whose address nobody takes stays in registers.
    @inline(never)
    private static func larger(_ memory: borrowing ByteMemory, _ byteCount: Int, by count: Int) -> ByteMemory {
        precondition(count >= 0, "the byte count is negative")
        var larger = ByteMemory(
            byteCount: max(leastCapacity, 2 * memory.byteCount, byteCount + count) + slackByteCount)
        larger.copy(memory.bytes(0..<byteCount), to: 0)
        return larger
    }
}
