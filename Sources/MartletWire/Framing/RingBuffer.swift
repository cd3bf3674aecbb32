/// A queue of bytes in a ring, which allocates storage on demand.
///
/// The storage doubles when bytes arrive, up to the bound. It has at most twice the number of bytes that were in the
/// ring at one time, and none before the first write. An empty ring keeps its storage until `releaseStorage()`.
package struct RingBuffer: ~Copyable, Sendable {
    /// The minimum number of bytes of storage, if the bound permits it.
    package static var minStorageByteCount: Int { 64 }

    /// The maximum number of bytes in the ring. A lower value does not remove bytes.
    package var maxByteCount: Int
    /// The number of bytes in the ring.
    package private(set) var count = 0
    private var head = 0
    private var storage = ByteMemory(byteCount: 0)

    /// Creates an empty ring without storage.
    ///
    /// - Parameter maxByteCount: The maximum number of bytes in the ring, from 0 to 2⁴⁰.
    package init(maxByteCount: Int) {
        precondition(maxByteCount >= 0 && maxByteCount <= 1 << 40, "the bound must be from 0 to 2^40 bytes")
        self.maxByteCount = maxByteCount
    }

    /// Whether the ring is empty.
    package var isEmpty: Bool { count == 0 }

    /// The number of bytes that the next write can append.
    package var freeByteCount: Int { max(maxByteCount - count, 0) }

    /// The number of bytes of storage that is allocated.
    package var storageByteCount: Int { storage.byteCount }

    /// Appends as many of the first bytes of `bytes` as fit, and returns their number.
    @inline(__always)
    package mutating func write(_ bytes: RawSpan) -> Int {
        let end = head &+ count &+ bytes.byteCount
        // In the most frequent case all bytes fit behind those in the ring.
        guard end <= storageByteCount, count &+ bytes.byteCount <= maxByteCount else { return writePart(bytes) }
        storage.copy(bytes, to: head &+ count)
        count &+= bytes.byteCount
        return bytes.byteCount
    }

    @inline(never)
    private mutating func writePart(_ bytes: RawSpan) -> Int {
        let accepted = min(bytes.byteCount, freeByteCount)
        if accepted == 0 { return 0 }
        if count + accepted > storageByteCount { move(toStorageOf: count + accepted) }
        let tail = wrapped(head + count)
        let untilEnd = min(accepted, storageByteCount - tail)
        storage.copy(bytes.extracting(first: untilEnd), to: tail)
        if untilEnd < accepted { storage.copy(bytes.extracting(untilEnd..<accepted), to: 0) }
        count += accepted
        return accepted
    }

    /// The contiguous bytes in the ring, from the oldest on.
    package var firstRegion: RawSpan {
        @_lifetime(borrow self)
        @inline(__always)
        get { storage.bytes(head..<min(head + count, storageByteCount)) }
    }

    /// The bytes at the start of the storage if the ring wraps around; otherwise empty.
    package var secondRegion: RawSpan {
        @_lifetime(borrow self)
        get { storage.bytes(0..<max(head + count - storageByteCount, 0)) }
    }

    /// Removes the oldest `byteCount` bytes.
    ///
    /// - Precondition: The ring contains at least `byteCount` bytes.
    package mutating func discard(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count, "more is discarded than is held")
        count -= byteCount
        head = count == 0 ? 0 : wrapped(head + byteCount)
    }

    /// Removes all bytes and releases the storage.
    package mutating func removeAll() {
        discard(count)
        releaseStorage()
    }

    /// Moves the bytes so that `firstRegion` contains all of them. The bytes are copied only if the ring wraps around.
    package mutating func linearize() {
        if head + count > storageByteCount { move(toStorageOf: storageByteCount) }
    }

    /// Releases the storage if the ring is empty.
    package mutating func releaseStorage() {
        if count > 0 { return }
        storage = ByteMemory(byteCount: 0)
    }

    private borrowing func wrapped(_ place: Int) -> Int { place < storageByteCount ? place : place - storageByteCount }

    private mutating func move(toStorageOf byteCount: Int) {
        var size = Self.minStorageByteCount
        while size < byteCount { size *= 2 }
        size = max(byteCount, min(size, maxByteCount))
        var larger = ByteMemory(byteCount: size)
        larger.copy(firstRegion, to: 0)
        larger.copy(secondRegion, to: firstRegion.byteCount)
        storage = larger
        head = 0
    }
}
