// The method of the same name would hide the function.
private let readBytes = unsafe read

/// The standard descriptors of a process, and the limit of its descriptors.
package enum Descriptors {
    /// The minimum number of descriptors of a command, without its connections.
    package static let minCount = 32

    #if canImport(Glibc)
        private static let resource = Int32(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// Opens closed standard descriptors, so that no socket or file receives one of their numbers. Reading from
    /// standard input and writing to the others still fail.
    package static func occupyStandard() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is given out.
            _ = unsafe openat(AT_FDCWD, "/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Opens a file that programs started later do not inherit; a new one may be read by everyone, unless `mode` says
    /// otherwise. Negative when that fails.
    package static func open(_ path: String, _ flags: Int32, mode: UInt16 = 0o644) -> Int32 {
        unsafe openat(AT_FDCWD, path, flags | O_CLOEXEC, mode_t(mode))
    }

    /// Reads at most so many bytes; none at the end, nil when that fails.
    package static func read(_ descriptor: Int32, atMost byteCount: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe readBytes(descriptor, &bytes, byteCount)
        return count >= 0 ? Array(bytes[..<count]) : nil
    }

    /// Waits until a descriptor is ready for `events`.
    package static func wait(for events: Int32, on descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }

    /// Throws unless there may be enough descriptors for a command.
    package static func checkLimit() throws(CommandError) {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < minCount else { return }
        throw CommandError(
            .failure, "this process may have \(limit.rlim_cur) descriptors; it needs \(minCount) (ulimit -n)")
    }

    /// Throws unless the system's files about this process can be read. Dispatch ends a process that has none.
    package static func checkProcessFiles(at path: String = "/proc/self/stat") throws(CommandError) {
        #if os(Linux)
            guard unsafe access(path, R_OK) != 0 else { return }
            throw CommandError(.failure, "this program needs /proc, which is not mounted or not readable")
        #endif
    }

    /// Raises the limit of this process and its children to the maximum that the system permits, and returns the limit.
    @discardableResult
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        let count = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        return Int(clamping: unsafe setrlimit(resource, &limit) == 0 ? limit.rlim_cur : count)
    }
}

extension CommandError {
    /// The failure of a system call, with the system's text for `errno`.
    package static func system(_ code: ExitCode, _ failure: String) -> CommandError {
        CommandError(code, "\(failure): \(unsafe String(cString: strerror(errno)))")
    }
}
