import Foundation

/// The standard descriptors of a process, and the limit of its descriptors.
package enum Descriptors {
    /// The minimum number of descriptors of a command, without its connections.
    package static let leastCount = 32

    #if canImport(Glibc)
        private static let resource = Int32(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Opens closed standard descriptors, so that no socket or file receives one of their numbers. Reading from
    /// standard input and writing to the others still fail.
    package static func occupyStandard() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest unused number.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Throws an error if the limit is too low for a command.
    package static func checkLimit() throws(CommandError) {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < leastCount else { return }
        throw CommandError(
            .failure, "this process may have \(limit.rlim_cur) descriptors; it needs \(leastCount) (ulimit -n)")
    }

    /// Raises the limit of this process and its children to the maximum that the system permits, and returns the limit.
    @discardableResult
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
        _ = unsafe getrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
