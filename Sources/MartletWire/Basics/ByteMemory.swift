/// Memory of a fixed number of bytes with one owner. Every access is checked against that number.
///
/// The type exists so that the writers and queues of bytes need no addresses.
@usableFromInline
@safe
struct ByteMemory: ~Copyable {
    @usableFromInline let byteCount: Int
    /// The address of the bytes; nil if there are none.
    @usableFromInline let start: UnsafeMutableRawPointer?

    /// Allocates memory whose bytes are undefined until they are written; none for a count of 0.
    init(byteCount: Int) {
        self.byteCount = byteCount
        unsafe start = byteCount == 0 ? nil : .allocate(byteCount: byteCount, alignment: 16)
    }

    @inlinable
    deinit {
        unsafe start?.deallocate()
    }

    /// The bytes of a range, all of which have been written. Traps when the range is outside the memory.
    @_lifetime(borrow self)
    @inline(__always)
    func bytes(_ range: Range<Int>) -> RawSpan {
        let all = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: start, count: byteCount))
        return unsafe _overrideLifetime(all, borrowing: self).extracting(range)
    }

    /// Stores an integer, most significant byte first. Traps when it does not fit.
    @inline(__always)
    mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(bigEndian value: Value, at offset: Int) {
        unsafe place(for: MemoryLayout<Value>.size, at: offset).storeBytes(of: value.bigEndian, as: Value.self)
    }

    /// Copies bytes to an offset. Traps when they do not fit.
    @inline(__always)
    mutating func copy(_ bytes: RawSpan, to offset: Int) {
        guard !bytes.isEmpty else { return }
        unsafe bytes.withUnsafeBytes {
            unsafe place(for: $0.count, at: offset)
                .copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: $0.count)
        }
    }

    /// Returns the address at which `count` bytes, at least one, are stored.
    @inline(__always)
    private func place(for count: Int, at offset: Int) -> UnsafeMutableRawPointer {
        precondition(offset >= 0 && count <= byteCount &- offset, "the bytes lie outside")
        return unsafe start.unsafelyUnwrapped + offset
    }
}

// The memory has one owner, which cannot be copied.
extension ByteMemory: @unchecked Sendable {}
