/// Bytes on their way, first in, first out, in a ring that takes storage only while there is something in it.
///
/// Storage doubles as bytes arrive, never ahead of them and never beyond the bound: at most twice what was held at
/// once, and nothing at all before the first write. A drained ring keeps its storage until `releaseStorage()`.
public struct RingBuffer: ~Copyable, Sendable {
    /// The least storage that is taken where the bound lets it, in bytes.
    public static var smallestStorageByteCount: Int { 64 }

    /// How many bytes the ring may hold; lowering it takes nothing away that is held already.
    public var maxByteCount: Int
    /// How many bytes are held.
    public private(set) var count = 0
    private var head = 0
    private var storage = ByteMemory(byteCount: 0)

    /// An empty ring without storage that will hold up to `maxByteCount` bytes.
    public init(maxByteCount: Int) {
        precondition(maxByteCount >= 0 && maxByteCount <= 1 << 40, "the bound is negative or absurd")
        self.maxByteCount = maxByteCount
    }

    /// Whether nothing is held.
    public var isEmpty: Bool { count == 0 }

    /// How many bytes the next write can take.
    public var freeByteCount: Int { max(maxByteCount - count, 0) }

    /// How many bytes of storage are taken at present.
    public var storageByteCount: Int { storage.byteCount }

    /// Appends the first of `bytes`, as many as there is room for, and says how many that were.
    @inline(__always)
    public mutating func write(_ bytes: RawSpan) -> Int {
        let end = head &+ count &+ bytes.byteCount
        // Mostly there is room for all of it behind what is held.
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

    /// The held bytes from the oldest on, as far as they lie together.
    public var firstRegion: RawSpan {
        @_lifetime(borrow self)
        @inline(__always)
        get { storage.bytes(head..<min(head + count, storageByteCount)) }
    }

    /// The held bytes that lie at the start of the storage because the ring wraps; mostly empty.
    public var secondRegion: RawSpan {
        @_lifetime(borrow self)
        get { storage.bytes(0..<max(head + count - storageByteCount, 0)) }
    }

    /// Forgets the oldest `byteCount` bytes. Traps when fewer are held.
    public mutating func discard(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count, "more is discarded than is held")
        count -= byteCount
        head = count == 0 ? 0 : wrapped(head + byteCount)
    }

    /// Forgets everything and gives the storage back.
    public mutating func removeAll() {
        discard(count)
        releaseStorage()
    }

    /// Moves the held bytes so that `firstRegion` has them all. Costs a copy when the ring wraps, else nothing.
    public mutating func linearize() {
        if head + count > storageByteCount { move(toStorageOf: storageByteCount) }
    }

    /// Gives the storage back when nothing is held; does nothing otherwise.
    public mutating func releaseStorage() {
        if count > 0 { return }
        storage = ByteMemory(byteCount: 0)
    }

    private borrowing func wrapped(_ place: Int) -> Int { place < storageByteCount ? place : place - storageByteCount }

    private mutating func move(toStorageOf byteCount: Int) {
        var size = Self.smallestStorageByteCount
        while size < byteCount { size *= 2 }
        size = max(byteCount, min(size, maxByteCount))
        var larger = ByteMemory(byteCount: size)
        larger.copy(firstRegion, to: 0)
        larger.copy(secondRegion, to: firstRegion.byteCount)
        storage = larger
        head = 0
    }
}
