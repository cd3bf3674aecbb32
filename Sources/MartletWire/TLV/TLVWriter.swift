/// Appends TLVs to memory of its own, which grows when it must and serves again after `removeAll()`.
///
/// Values are the program's own, so a value too long for its 32-bit length (4 GiB) is a trap, not an error.
@safe
public struct TLVWriter: ~Copyable {
    /// The memory that `removeAll()` keeps at the most, in bytes: a long value's is not kept for short ones.
    public static var maxKeptByteCount: Int { 4096 }
    /// The least memory that is taken once something is written, in bytes.
    private static var leastCapacity: Int { 256 }
    /// A head is stored as eight bytes, and what follows is stored over the last two: so many bytes lie behind the
    /// capacity.
    private static var slackByteCount: Int { 2 }

    /// How many bytes were written.
    public private(set) var byteCount = 0
    private var capacity = 0
    /// Nil while the capacity is 0.
    private var memory: UnsafeMutableRawPointer?

    /// An empty writer without memory.
    public init() {
        unsafe memory = nil
    }

    /// An empty writer with room for `byteCount` bytes.
    public init(reserving byteCount: Int) {
        unsafe (memory, capacity) = Self.moved(nil, 0, growing: 0, by: byteCount)
    }

    deinit {
        unsafe memory?.deallocate()
    }

    /// A copy of what was written.
    public var bytes: [UInt8] { [UInt8](copying: rawBytes) }

    /// What was written, where it lies.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let written = unsafe UnsafeRawBufferPointer(start: memory, count: byteCount)
            return unsafe _overrideLifetime(RawSpan(_unsafeBytes: written), borrowing: self)
        }
    }

    /// Lets go of what was written. Memory of up to ``maxKeptByteCount`` bytes stays.
    public mutating func removeAll() {
        removeAll(keeping: Self.maxKeptByteCount)
    }

    /// The same with another bound.
    mutating func removeAll(keeping maxByteCount: Int) {
        byteCount = 0
        guard capacity > maxByteCount else { return }
        unsafe memory?.deallocate()
        unsafe memory = nil
        capacity = 0
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
        let place = unsafe place(for: TLVLimits.headByteCount &+ 2)
        unsafe place.storeBytes(of: (Self.head(tag, 2) | UInt64(value)).bigEndian, as: UInt64.self)
    }

    /// Appends a four-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint32 value: UInt32) {
        let place = unsafe place(for: TLVLimits.headByteCount &+ 4)
        unsafe place.storeBytes(of: Self.head(tag, 4).bigEndian, as: UInt64.self)
        unsafe place.storeBytes(of: value.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt32.self)
    }

    /// Appends an eight-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint64 value: UInt64) {
        let place = unsafe place(for: TLVLimits.headByteCount &+ 8)
        unsafe place.storeBytes(of: Self.head(tag, 8).bigEndian, as: UInt64.self)
        unsafe place.storeBytes(of: value.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt64.self)
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
        let place = unsafe place(for: tlvs.byteCount)
        unsafe tlvs.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe place.copyMemory(from: start, byteCount: source.count)
        }
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
        unsafe memory!.storeBytes(of: length.bigEndian, toByteOffset: start &- 4, as: UInt32.self)
    }

    /// Appends the head of a field whose value the caller appends next.
    @inline(__always)
    mutating func appendHead(_ tag: Tag, followedBy valueByteCount: Int) {
        let place = unsafe place(for: TLVLimits.headByteCount)
        unsafe place.storeBytes(of: Self.head(tag, valueByteCount).bigEndian, as: UInt64.self)
    }

    /// Appends a part of a value.
    @inline(__always)
    mutating func appendRaw<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        let place = unsafe place(for: MemoryLayout<Value>.size)
        unsafe place.storeBytes(of: value.bigEndian, as: Value.self)
    }

    /// Tag and length, in the upper 48 of 64 bits.
    @inline(__always)
    private static func head(_ tag: Tag, _ byteCount: Int) -> UInt64 {
        UInt64(tag.rawValue) << 48 | UInt64(UInt32(byteCount)) << 16
    }

    /// Where the next `count` bytes go.
    @inline(__always)
    private mutating func place(for count: Int) -> UnsafeMutableRawPointer {
        if count >= capacity &- byteCount {
            unsafe (memory, capacity) = Self.moved(memory, byteCount, growing: capacity, by: count)
        }
        let place = unsafe memory.unsafelyUnwrapped + byteCount
        byteCount &+= count
        return unsafe place
    }

    /// Larger memory with what was written, and its capacity.
    ///
    /// Not a method: a writer whose address nobody takes stays in registers.
    @inline(never)
    private static func moved(
        _ memory: UnsafeMutableRawPointer?, _ byteCount: Int, growing capacity: Int, by count: Int
    ) -> (UnsafeMutableRawPointer?, Int) {
        precondition(count >= 0, "the byte count is negative")
        let larger = max(leastCapacity, 2 * capacity, byteCount + count + 1)
        let target = UnsafeMutableRawPointer.allocate(byteCount: larger + slackByteCount, alignment: 8)
        if let memory = unsafe memory {
            unsafe target.copyMemory(from: memory, byteCount: byteCount)
            unsafe memory.deallocate()
        }
        return unsafe (target, larger)
    }
}

// The memory is owned by one value that cannot be copied.
extension TLVWriter: @unchecked Sendable {}
