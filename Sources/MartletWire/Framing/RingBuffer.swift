/// A queue of bytes in a ring, which allocates storage on demand.
///
/// The storage doubles as bytes are written and never exceeds the bound, so it is at most twice the maximum count of
/// held bytes. An empty ring keeps its storage until `releaseStorage()` is called.
@safe
public struct RingBuffer: ~Copyable {
    /// The minimum size of the storage in bytes, unless the bound is lower.
    public static var smallestStorageByteCount: Int { 64 }

    /// The maximum number of bytes in the ring. A lower value does not remove bytes.
    public var maxByteCount: Int
    /// The number of bytes in the ring.
    public private(set) var count = 0
    private var head = 0
    private var storage = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// Creates an empty ring without storage.
    ///
    /// - Parameter maxByteCount: The maximum number of bytes in the ring, from 0 to 2⁴⁰.
    public init(maxByteCount: Int) {
        precondition(maxByteCount >= 0 && maxByteCount <= 1 << 40, "the bound must be from 0 to 2^40 bytes")
        self.maxByteCount = maxByteCount
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// A Boolean value that indicates whether the ring is empty.
    public var isEmpty: Bool { count == 0 }

    /// The number of bytes that the next write can append.
    public var freeByteCount: Int { max(maxByteCount - count, 0) }

    /// The number of bytes of storage that is allocated.
    public var storageByteCount: Int { unsafe storage.count }

    /// Appends as many of the first bytes of `bytes` as fit, and returns their number.
    @inline(__always)
    public mutating func write(_ bytes: RawSpan) -> Int {
        let end = head &+ count &+ bytes.byteCount
        // In the most frequent case all bytes fit behind those in the ring.
        guard end <= storageByteCount, count &+ bytes.byteCount <= maxByteCount else { return writePart(bytes) }
        copy(bytes, to: head &+ count)
        count &+= bytes.byteCount
        return bytes.byteCount
    }

    @inline(never)
    private mutating func writePart(_ bytes: RawSpan) -> Int {
        let accepted = min(bytes.byteCount, freeByteCount)
        if accepted == 0 { return 0 }
        if unsafe count + accepted > storage.count { move(toStorageOf: count + accepted) }
        let tail = wrapped(head + count)
        let untilEnd = unsafe min(accepted, storage.count - tail)
        copy(bytes.extracting(first: untilEnd), to: tail)
        if untilEnd < accepted { copy(bytes.extracting(untilEnd..<accepted), to: 0) }
        count += accepted
        return accepted
    }

    /// Copies bytes to a position within the storage.
    @inline(__always)
    private mutating func copy(_ bytes: RawSpan, to place: Int) {
        unsafe bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress, let memory = unsafe storage.baseAddress else { return }
            unsafe (memory + place).copyMemory(from: start, byteCount: source.count)
        }
    }

    /// The contiguous bytes from the oldest one on.
    public var firstRegion: RawSpan {
        @_lifetime(borrow self)
        @inline(__always)
        get { region(head..<min(head + count, storageByteCount)) }
    }

    /// The bytes at the start of the storage if the ring wraps around; otherwise empty.
    public var secondRegion: RawSpan {
        @_lifetime(borrow self)
        get { region(0..<max(head + count - storageByteCount, 0)) }
    }

    @_lifetime(borrow self)
    @inline(__always)
    private borrowing func region(_ range: Range<Int>) -> RawSpan {
        let span = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: storage[range]))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Removes the oldest `byteCount` bytes.
    ///
    /// - Precondition: The ring contains at least `byteCount` bytes.
    public mutating func discard(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count, "more is discarded than is held")
        count -= byteCount
        head = count == 0 ? 0 : wrapped(head + byteCount)
    }

    /// Removes all bytes and releases the storage.
    public mutating func removeAll() {
        discard(count)
        releaseStorage()
    }

    /// Moves the bytes so that `firstRegion` contains all of them. The bytes are copied only if the ring wraps around.
    public mutating func linearize() {
        if head + count > storageByteCount { move(toStorageOf: storageByteCount) }
    }

    /// Releases the storage if the ring is empty.
    public mutating func releaseStorage() {
        if count > 0 { return }
        unsafe storage.deallocate()
        unsafe storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    private borrowing func wrapped(_ place: Int) -> Int { place < storageByteCount ? place : place - storageByteCount }

    private mutating func move(toStorageOf byteCount: Int) {
        var size = Self.smallestStorageByteCount
        while size < byteCount { size *= 2 }
        size = max(byteCount, min(size, maxByteCount))
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        let first = firstRegion.byteCount
        unsafe firstRegion.withUnsafeBytes { unsafe larger.copyMemory(from: $0) }
        unsafe secondRegion.withUnsafeBytes {
            unsafe UnsafeMutableRawBufferPointer(rebasing: larger[first...]).copyMemory(from: $0)
        }
        unsafe storage.deallocate()
        unsafe storage = larger
        head = 0
    }
}

// One value, which cannot be copied, owns the storage.
extension RingBuffer: @unchecked Sendable {}
