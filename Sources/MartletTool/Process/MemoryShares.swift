/// The parts of the memory that `serve` may use.
///
/// A part is reserved for what nothing counts: the program with its libraries, the stacks and buffers of threads, and
/// the overhead of the allocator.
struct MemoryShares: Equatable {
    /// The minimum number of reserved bytes, unless that is more than half.
    static let minReservedByteCount = 32 << 20

    /// The bytes of links, connections and rooms in use.
    let engine: Int
    /// The bytes of a store in memory; 0 for one on disk.
    let store: Int

    /// - Parameter total: The bytes of the whole process.
    init(of total: Int, storesInMemory: Bool) {
        let reserved = max(total / 8, min(total / 2, Self.minReservedByteCount))
        store = storesInMemory ? (total - reserved) / 7 * 4 : 0
        engine = total - reserved - store
    }
}
