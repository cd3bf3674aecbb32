import CMartletSystem
import Foundation

/// What makes a process's resident memory tell how much is in use.
///
/// The GNU C library gives every thread a heap of its own and keeps what was freed for what is allocated next: a thread
/// more, or a moment in which the machine was busy elsewhere, shows as growth although nothing is held. What is held,
/// and what freed memory lies scattered between, cannot be given back and is counted. Other allocators are left as they
/// are.
package enum MeasuredHeap {
    /// How often freed memory is given back, and how often it is worth looking.
    package static let interval = Duration.seconds(2)
    private static let trimVariable = "MARTLET_TRIMS_HEAP"

    /// For the environment of a relay that is started to be measured: one heap for all threads, which the
    /// relay trims.
    package static let environment = ["MALLOC_ARENA_MAX": "1", trimVariable: "1"]

    /// Threads of this process that have no heap yet share those that there are (mallopt(3)).
    package static func share() {
        martlet_heap_share(1)
    }

    /// Gives back to the system what this process has freed (malloc_trim(3)).
    package static func trim() {
        martlet_heap_trim()
    }

    /// In a process that was started to be measured: trims again and again, until it ends.
    package static func keepTrimmedIfAsked() {
        guard ProcessInfo.processInfo.environment[trimVariable] != nil else { return }
        Task {
            while true {
                try await Task.sleep(for: interval)
                trim()
            }
        }
    }
}
