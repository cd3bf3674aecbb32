import Foundation

/// The descriptors that a process begins with and may have.
package enum Descriptors {
    /// What any command needs besides its connections.
    package static let leastCount = 32

    #if canImport(Glibc)
        private static let resource = Int32(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Occupies closed standard descriptors, so that no socket or file gets one of their numbers. They
    /// are still of no use: reading the first and writing the others fails.
    package static func occupyStandard() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is given out.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Throws unless there may be enough descriptors for a command.
    package static func checkLimit() throws(CommandError) {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < leastCount else { return }
        throw CommandError(
            .failure, "this process may have \(limit.rlim_cur) descriptors; it needs \(leastCount) (ulimit -n)")
    }

    /// Lets this process, and those that it starts, have as many descriptors as the system permits; returns how many.
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
