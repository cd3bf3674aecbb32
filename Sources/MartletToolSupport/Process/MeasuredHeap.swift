import CMartletSystem

/// Settings of the GNU C library that make resident memory comparable with the memory in use.
///
/// By default the library creates a heap for each thread and keeps freed memory, so resident memory grows with threads
/// and bursts although nothing is leaked. Freed memory between allocations in use cannot be released and is counted.
/// Other allocators are not changed.
package enum MeasuredHeap {
    /// The interval between two releases of freed memory.
    package static let interval = Duration.seconds(2)
    private static let trimVariable = "MARTLET_TRIMS_HEAP"

    /// Lines `NAME=VALUE` in the environment of a relay that is measured: one heap for all threads, which the relay
    /// trims.
    package static let environment = ["MALLOC_ARENA_MAX=1", "\(trimVariable)=1"]

    /// Makes further threads of this process share the existing heaps (mallopt(3)).
    package static func share() {
        martlet_heap_share(1)
    }

    /// Releases freed memory to the system (malloc_trim(3)).
    package static func trim() {
        martlet_heap_trim()
    }

    /// Releases freed memory at intervals, if the environment of the process requests it.
    package static func keepTrimmedIfAsked() {
        guard Environment[trimVariable] != nil else { return }
        Task {
            while true {
                try await Task.sleep(for: interval)
                trim()
            }
        }
    }
}
