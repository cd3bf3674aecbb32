import CMartletSystem
import Dispatch
import MartletTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A child process, which inherits no descriptors except its three streams.
///
/// Foundation's `Process` learns of the end of a child from the end of a socket. A child that is started by a different
/// thread at the same time can inherit that socket, and the end is then noticed only when this child has ended, too.
package final class Subprocess: Sendable {
    /// How a process has ended.
    package enum End: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)

        /// The exit code that a shell reports: 128 plus the signal if a signal ended the process.
        package var code: Int32 {
            switch self {
            case .exit(let code): code
            case .signal(let number): 128 + number
            }
        }
    }

    /// The error of a program that cannot be started.
    package struct NotStarted: Error, CustomStringConvertible {
        package let description: String
    }

    /// The process ID.
    package let identifier: Int32
    private let isGroupLeader: Bool
    /// Its lock is held while the process is collected and signalled, so that no signal reaches a later process with
    /// the same ID.
    private let state = Guarded<End?>(nil)
    private let running = DispatchGroup()

    /// Starts a program, with default signals.
    ///
    /// - Parameters:
    ///   - path: the path of the program.
    ///   - variables: lines `NAME=VALUE`, which replace or extend the environment of this process.
    ///   - input: the descriptor of standard input; nil for an empty one. The caller closes it.
    ///   - output: the descriptor of standard output; nil if it is discarded.
    ///   - errors: the descriptor of standard error; nil if it is discarded.
    ///   - isGroupLeader: whether it leads a process group, to which signals are sent.
    /// - Throws: ``NotStarted``.
    package init(
        _ path: String, _ arguments: [String] = [], variables: [String] = [], input: Int32? = nil,
        output: Int32? = nil, errors: Int32? = nil, isGroupLeader: Bool = false
    ) throws(NotStarted) {
        let words = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(
            capacity: arguments.count + 2)
        defer { unsafe words.deallocate() }
        _ = unsafe words.initialize(from: ([path] + arguments).map { unsafe strdup($0) } + [nil])
        defer { unsafe words.forEach { unsafe free($0) } }
        let result = unsafe path.withCString { path in
            unsafe variables.joined(separator: "\n").withCString { variables in
                var child = unsafe martlet_child(
                    path: path, arguments: words.baseAddress!, variables: variables,
                    streams: (input ?? -1, output ?? -1, errors ?? -1), has_group: isGroupLeader)
                return unsafe martlet_spawn(&child)
            }
        }
        guard result > 0 else { throw NotStarted(description: unsafe String(cString: strerror(-result))) }
        identifier = result
        self.isGroupLeader = isGroupLeader
        running.enter()
        guard let error = startThread(named: "subprocess", { self.collect() }) else { return }
        signal(SIGKILL)
        collect()
        throw NotStarted(description: "\(error)")
    }

    /// Waits for the end of the process on a thread of its own.
    private func collect() {
        martlet_child_await(identifier)
        state.withLock {
            let status = martlet_child_status(identifier)
            $0 = status < 256 ? .exit(status) : .signal(status - 256)
        }
        running.leave()
    }

    /// Whether the process has not ended.
    package var isRunning: Bool { state.withLock { $0 == nil } }

    /// Sends a signal to the process, or to its group if it leads one. A process that has ended gets none.
    package func signal(_ number: Int32) {
        state.withLock {
            if $0 == nil { _ = kill(isGroupLeader ? -identifier : identifier, number) }
        }
    }

    /// Waits for the end of the process. A cancellation does not end the wait.
    package func end() async -> End {
        await withCheckedContinuation { continuation in
            running.notify(queue: .global()) { continuation.resume(returning: self.waitForEnd()) }
        }
    }

    /// Blocks the thread until the process has ended.
    @discardableResult
    package func waitForEnd() -> End {
        running.wait()
        return state.withLock { $0! }
    }
}
