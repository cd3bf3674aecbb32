/// A writer that appends TLVs to a buffer. `removeAll()` keeps the buffer for further use.
///
/// - Precondition: Every value has less than 4 GiB, the maximum of a 32-bit length.
@safe
public struct TLVWriter: ~Copyable {
    /// The maximum size in bytes of a buffer that `removeAll()` keeps.
    public static var maxKeptByteCount: Int { 4096 }
    /// The minimum size of a buffer, in bytes.
    private static var leastCapacity: Int { 256 }
    /// The number of bytes behind the capacity. The head of a field has six bytes and is stored as eight, and the
    /// following bytes overwrite the last two.
    private static var slackByteCount: Int { 2 }

    /// The number of bytes written.
    public private(set) var byteCount = 0
    private var capacity = 0
    /// The buffer; nil while the capacity is 0.
    private var memory: UnsafeMutableRawPointer?

    /// Creates an empty writer without a buffer.
    public init() {
        unsafe memory = nil
    }

    /// Creates an empty writer with capacity for `byteCount` bytes.
    public init(reserving byteCount: Int) {
        unsafe (memory, capacity) = Self.moved(nil, 0, growing: 0, by: byteCount)
    }

    deinit {
        unsafe memory?.deallocate()
    }

    /// A copy of the bytes written.
    public var bytes: [UInt8] { [UInt8](copying: rawBytes) }

    /// The bytes written, borrowed.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let written = unsafe UnsafeRawBufferPointer(start: memory, count: byteCount)
            return unsafe _overrideLifetime(RawSpan(_unsafeBytes: written), borrowing: self)
        }
    }

    /// Removes all bytes, and releases a buffer of more than ``maxKeptByteCount`` bytes.
    public mutating func removeAll() {
        removeAll(keeping: Self.maxKeptByteCount)
    }

    /// Removes all bytes, and releases a buffer of more than `maxByteCount` bytes.
    mutating func removeAll(keeping maxByteCount: Int) {
        byteCount = 0
        guard capacity > maxByteCount else { return }
        unsafe memory?.deallocate()
        unsafe memory = nil
        capacity = 0
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
        let place = unsafe place(for: TLVLimits.headByteCount &+ 2)
        unsafe place.storeBytes(of: (Self.head(tag, 2) | UInt64(value)).bigEndian, as: UInt64.self)
    }

    /// Appends a field with a four-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint32 value: UInt32) {
        let place = unsafe place(for: TLVLimits.headByteCount &+ 4)
        unsafe place.storeBytes(of: Self.head(tag, 4).bigEndian, as: UInt64.self)
        unsafe place.storeBytes(of: value.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt32.self)
    }

    /// Appends a field with an eight-byte integer.
    @inline(__always)
    public mutating func append(_ tag: Tag, uint64 value: UInt64) {
        let place = unsafe place(for: TLVLimits.headByteCount &+ 8)
        unsafe place.storeBytes(of: Self.head(tag, 8).bigEndian, as: UInt64.self)
        unsafe place.storeBytes(of: value.bigEndian, toByteOffset: TLVLimits.headByteCount, as: UInt64.self)
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
    public mutating func append(encoded tlvs: RawSpan) {
        let place = unsafe place(for: tlvs.byteCount)
        unsafe tlvs.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe place.copyMemory(from: start, byteCount: source.count)
        }
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
        unsafe memory!.storeBytes(of: length.bigEndian, toByteOffset: start &- 4, as: UInt32.self)
    }

    /// Appends the head of a field. The caller appends the value.
    @inline(__always)
    mutating func appendHead(_ tag: Tag, followedBy valueByteCount: Int) {
        let place = unsafe place(for: TLVLimits.headByteCount)
        unsafe place.storeBytes(of: Self.head(tag, valueByteCount).bigEndian, as: UInt64.self)
    }

    /// Appends an integer as a part of a value.
    @inline(__always)
    mutating func appendRaw<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        let place = unsafe place(for: MemoryLayout<Value>.size)
        unsafe place.storeBytes(of: value.bigEndian, as: Value.self)
    }

    /// Returns tag and length in the upper 48 of 64 bits.
    @inline(__always)
    private static func head(_ tag: Tag, _ byteCount: Int) -> UInt64 {
        UInt64(tag.rawValue) << 48 | UInt64(UInt32(byteCount)) << 16
    }

    /// Returns the address of the next `count` bytes, which count as written.
    @inline(__always)
    private mutating func place(for count: Int) -> UnsafeMutableRawPointer {
        if count >= capacity &- byteCount {
            unsafe (memory, capacity) = Self.moved(memory, byteCount, growing: capacity, by: count)
        }
        let place = unsafe memory.unsafelyUnwrapped + byteCount
        byteCount &+= count
        return unsafe place
    }

    /// Returns a larger buffer with the bytes written, and its capacity.
    ///
    /// The function is static so that the optimizer can keep the writer's properties in registers.
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

// One value, which cannot be copied, owns the buffer.
extension TLVWriter: @unchecked Sendable {}
