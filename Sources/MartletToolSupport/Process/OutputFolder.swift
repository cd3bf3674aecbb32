#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A folder in which a command writes files.
package enum OutputFolder {
    /// Checks that files can be created in a folder. `what` names them in the errors: "the recordings".
    ///
    /// - Parameter isCreated: Whether the command creates a folder that does not exist.
    package static func check(_ path: String, _ what: String, isCreated: Bool = false) throws(CommandError) {
        var status = stat()
        if unsafe stat(path, &status) != 0 {
            guard isCreated, errno == ENOENT else {
                throw .system(.cannotCreate, "cannot write \(what) in \(path)")
            }
            return try check(parent(of: path), what)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandError(.cannotCreate, "cannot write \(what) in \(path): it is not a folder")
        }
        guard unsafe access(path, W_OK | X_OK) == 0 else {
            throw .system(.cannotCreate, "cannot write \(what) in \(path)")
        }
    }

    private static func parent(of path: String) -> String {
        let path = path.reversed().drop { $0 == "/" }
        let parent = path.drop { $0 != "/" }.drop { $0 == "/" }
        if !parent.isEmpty { return String(parent.reversed()) }
        return path.contains("/") ? "/" : "."
    }
}
