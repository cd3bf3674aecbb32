import CMartletSystem
import MartletToolSupport
import MartletTransport

/// The service manager that has started this process, by the protocols of systemd: notifications (sd_notify(3)), a
/// watchdog, listening sockets (sd_listen_fds(3)) and the journal as the reader of the log. Without a manager every
/// notification has no effect.
enum SystemdService {
    /// A state of the service.
    enum State {
        case ready
        case reloading
        case stopping
        case alive

        /// The assignments of the notification.
        fileprivate var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(SystemdService.monotonicMicroseconds)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }
    }

    /// A listening socket of the manager, and the name of its unit or of its `FileDescriptorName`.
    typealias NamedSocket = (name: String, socket: TCPListener.Socket)

    /// Sends a state to the manager.
    static func notify(_ state: State) {
        guard let address = Environment["NOTIFY_SOCKET"] else { return }
        _ = unsafe martlet_notify(address, state.text)
    }

    /// Sends `alive` at half of the watchdog's interval while `isAlive` returns.
    static func keepAlive(_ isAlive: @escaping @Sendable () async -> Void) {
        guard let microseconds = Environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 1,
            isForThisProcess("WATCHDOG_PID", isRequired: false)
        else { return }
        Task {
            while true {
                await isAlive()
                notify(.alive)
                try await Task.sleep(for: .microseconds(microseconds / 2))
            }
        }
    }

    /// Takes the sockets that the manager has opened. A second call takes them again, so there is one.
    static func sockets() throws(CommandError) -> [NamedSocket] {
        guard isForThisProcess("LISTEN_PID", isRequired: true),
            let count = Environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
        else { return [] }
        let names = Environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var sockets: [NamedSocket] = []
        for index in 0..<count {
            do throws(TransportError) {
                let socket = try TCPListener.Socket(inheriting: firstDescriptor + index)
                sockets.append((Int(index) < names.count ? String(names[Int(index)]) : "", socket))
            } catch {
                throw CommandError(
                    .cannotCreate, "descriptor \(firstDescriptor + index) is not a listening TCP socket: \(error)")
            }
        }
        return sockets
    }

    /// Whether the journal reads standard error.
    static var readsStandardError: Bool {
        var status = stat()
        guard let stream = Environment["JOURNAL_STREAM"], unsafe fstat(STDERR_FILENO, &status) == 0 else {
            return false
        }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// The first descriptor of the manager (SD_LISTEN_FDS_START).
    private static let firstDescriptor: Int32 = 3

    private static func isForThisProcess(_ variable: String, isRequired: Bool) -> Bool {
        Environment[variable].map { $0 == "\(getpid())" } ?? !isRequired
    }

    private static var monotonicMicroseconds: UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }
}
