import MartletTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A database that is damaged. Its files are kept under another name.
package enum DamagedFile {
    /// Renames the file and its write-ahead log.
    ///
    /// - Returns: The new name.
    /// - Throws: `readOnly` if a file cannot be renamed.
    package static func setAside(_ path: String) throws(DatabaseError) -> String {
        let aside = "\(path).corrupt-\(EventLoop.wallClock)"
        for suffix in ["-wal", ""] {
            guard unsafe rename(path + suffix, aside + suffix) != 0, errno != ENOENT else { continue }
            throw .readOnly(path: path)
        }
        unsafe unlink(path + "-shm")
        return aside
    }
}
