/// The slots of links that have changed since they were last asked for output.
///
/// The server processes them in groups: a group's links stay in the processor's cache, and the first receivers of a
/// message are sent to before the last ones are processed.
///
/// | state of a link | owns | ends |
/// |---|---|---|
/// | dirty | an entry in the group | `takeAll` |
/// | kept | an entry before the group | `takeAll` |
@usableFromInline
struct DirtyLinks: Sendable {
    /// The number of links of a group.
    @usableFromInline static let groupCount = 64

    @usableFromInline var slots: [Int] = []
    /// The number of links in front that belong to no group, because they wait until no events of the user remain.
    @usableFromInline var keptCount = 0
    /// Memory for the next links.
    private var spare: [Int] = []

    var count: Int { slots.count }

    var isEmpty: Bool { slots.isEmpty }

    @inlinable var isGroupFull: Bool { slots.count - keptCount >= DirtyLinks.groupCount }

    @inlinable @inline(__always)
    mutating func append(_ slot: Int) {
        slots.append(slot)
    }

    /// Takes all links; the caller returns the array with `recycle`.
    mutating func takeAll() -> [Int] {
        keptCount = 0
        defer {
            slots = spare
            spare = []
        }
        return slots
    }

    /// Keeps a taken link for the last group, before any other is appended.
    mutating func keep(_ slot: Int) {
        slots.insert(slot, at: keptCount)
        keptCount += 1
    }

    /// Returns the memory of the taken links.
    mutating func recycle(_ taken: consuming [Int]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }
}
