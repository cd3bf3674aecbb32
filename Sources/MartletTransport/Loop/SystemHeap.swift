import CMartletSystem

/// The allocator of the C library.
package enum SystemHeap {
    /// Returns freed memory to the system with malloc_trim(3); without effect outside glibc. The call takes
    /// milliseconds on a large heap and must not run on a loop.
    package static func trim() {
        martlet_heap_trim()
    }
}
