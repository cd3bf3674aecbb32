import CMartletSystem

/// What a process can ask of the C library's allocator; on systems without glibc nothing happens.
package enum SystemHeap {
    /// Gives what was freed back to the system, where the allocator keeps it for what is allocated next
    /// (malloc_trim(3)). It takes milliseconds in a large heap, so it is not for a loop's thread.
    package static func trim() {
        martlet_heap_trim()
    }
}
