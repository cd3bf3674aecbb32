import Foundation

/// A server under load, on the first core. The load runs on the second.
final class ServerProcess {
    enum Kind: String {
        case martlet, bare, mosquitto, nats, redis, ejabberd, prosody
        /// A relay that spins for longer than the pauses of the loads.
        case spinning
        /// With TLS.
        case secureMartlet, secureMosquitto, secureNATS, secureEjabberd, secureProsody
        /// With a store on the disk, which is synced before a message is accepted.
        case storedMartlet, storedRedis, syncedNATS, storedEjabberd, storedProsody
        /// A relay with TLS that accepts connections without a limit, and `openssl s_server`.
        case handshakeRelay, openSSL

        /// An unusual port below the ephemeral range.
        var port: Int {
            switch self {
            case .martlet: 27227
            case .spinning: 27228
            case .bare: 27327
            case .mosquitto: 21883
            case .nats: 24222
            case .redis: 26379
            case .secureMartlet: 27229
            case .secureMosquitto: 21884
            case .secureNATS: 24223
            case .handshakeRelay: 27230
            case .openSSL: 27231
            case .storedMartlet: 27232
            case .storedRedis: 26380
            case .syncedNATS: 24224
            case .ejabberd: 25222
            case .prosody: 25223
            case .secureEjabberd: 25224
            case .secureProsody: 25225
            case .storedEjabberd: 25226
            case .storedProsody: 25227
            }
        }

        var usesTLS: Bool {
            switch self {
            case .secureMartlet, .secureMosquitto, .secureNATS, .secureEjabberd, .secureProsody, .handshakeRelay,
                .openSSL:
                true
            case .martlet, .bare, .mosquitto, .nats, .redis, .ejabberd, .prosody, .spinning, .storedMartlet,
                .storedRedis, .syncedNATS, .storedEjabberd, .storedProsody:
                false
            }
        }
    }

    let kind: Kind
    private var process = Process()
    private let folder: URL
    /// The directory of a relay's store; nil for one in the folder.
    private let store: String?

    var port: Int { kind.port }
    private var pid: Int32 { process.processIdentifier }

    /// Starts a server and waits until it accepts connections.
    init(_ kind: Kind, _ options: Options, store: String? = nil) throws {
        self.kind = kind
        self.store = store
        // The database of ejabberd is synced after each message, in a file system in memory at no cost.
        let isInMemory = kind == .ejabberd || kind == .secureEjabberd
        let parent = isInMemory ? URL(filePath: "/dev/shm") : FileManager.default.temporaryDirectory
        folder = parent.appending(path: "martlet-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        do {
            if kind.usesTLS { try makeCertificates(options) }
            if kind == .syncedNATS { try makeWritesSynchronous() }
            try start(options)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    private func start(_ options: Options) throws {
        let command = try command(options)
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "ulimit -n $(ulimit -Hn); exec \"$@\"", "sh", "taskset", "-c", "0"] + command
        // At the end of its input s_server would spin.
        process.standardInput = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        Self.unblockTermination()
        try process.run()
        try waitUntilListening()
    }

    /// Unblocks SIGTERM in this thread, whose mask the server inherits. Threads of tasks block all signals.
    private static func unblockTermination() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Kills the server, starts it in the same folder and waits until it accepts connections.
    func restart(_ options: Options) throws {
        kill(pid, SIGKILL)
        process.waitUntilExit()
        process = Process()
        try start(options)
    }

    /// Ends the server.
    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Makes certificates in the folder of the server.
    private func makeCertificates(_ options: Options) throws {
        let process = Process()
        process.executableURL = URL(filePath: options.tool)
        process.arguments = ["dev-cert", "--directory", folder.path]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Options.Failure(description: "there are no certificates") }
    }

    /// Makes every write to a file in the folder synchronous.
    private func makeWritesSynchronous() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/chattr")
        process.arguments = ["+S", folder.path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Options.Failure(description: "\(folder.path) has no synchronous writes")
        }
    }

    private func path(_ file: String) -> String { folder.appending(path: file).path }

    private func command(_ options: Options) throws -> [String] {
        let certificate = (file: path("server.pem"), key: path("server.key"))
        switch kind {
        case .martlet, .spinning, .secureMartlet, .storedMartlet:
            return [
                options.tool, "serve", "--allow-all", "--quiet", "--drain", "0", "--listen", "127.0.0.1:\(port)",
                "--max-connections-per-address", "0",
            ]
                + (kind == .spinning ? ["--spin", "20ms"] : [])
                + (kind == .storedMartlet ? ["--store", store ?? path("store")] : [])
                + (kind == .secureMartlet ? ["--certificate", certificate.file, "--key", certificate.key] : [])
        case .handshakeRelay:
            return [
                CommandLine.arguments[0], "handshake-relay", "--port", "\(port)", "--certificates", folder.path,
            ]
        case .openSSL:
            return [
                "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert", certificate.file, "-key",
                certificate.key, "-alpn", "martlet/1", "-num_tickets", "1", "-quiet", "-www",
            ]
        case .bare: return [options.baselines + "/relay", "\(port)"]
        case .mosquitto, .secureMosquitto:
            let file = folder.appending(path: "mosquitto.conf")
            let lines =
                [
                    "listener \(port) 127.0.0.1", "allow_anonymous true", "max_inflight_messages 0",
                    "max_queued_messages 0", "set_tcp_nodelay true", "persistence false", "log_type none",
                ]
                // Another user could not read the key.
                + (kind.usesTLS ? ["user root", "certfile \(certificate.file)", "keyfile \(certificate.key)"] : [])
            try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
            return ["mosquitto", "-c", file.path]
        case .nats, .secureNATS, .syncedNATS:
            return [
                "nats-server", "--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir", folder.path,
            ]
                + (kind.usesTLS ? ["--tls", "--tlscert", certificate.file, "--tlskey", certificate.key] : [])
        case .ejabberd, .secureEjabberd, .storedEjabberd:
            let file = try XMPPServers.writeEjabberd(
                in: folder, port: port, usesTLS: kind.usesTLS, isStored: kind == .storedEjabberd)
            // The package's program for this, `ejabberdctl`, changes the user and remains the parent of the server.
            return [
                "env", "EJABBERD_CONFIG_PATH=\(file)", "EJABBERD_LOG_PATH=\(path("log"))", "ERL_CRASH_DUMP_BYTES=0",
                "ERL_LIBS=/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu", "erl", "-noinput", "+K", "true", "+P",
                "250000", "+Q", "65536", "-mnesia", "dir", "\"\(path("mnesia"))\"", "-s", "ejabberd",
            ]
        case .prosody, .secureProsody, .storedProsody:
            let file = try XMPPServers.writeProsody(
                in: folder, port: port, usesTLS: kind.usesTLS, isStored: kind == .storedProsody)
            return ["prosody", "--config", file, "-F"]
        case .redis, .storedRedis:
            return [
                "redis-server", "--bind", "127.0.0.1", "--port", "\(port)", "--save", "", "--appendonly",
                kind == .storedRedis ? "yes" : "no", "--appendfsync", "always", "--dir", folder.path, "--maxclients",
                "20000", "--client-output-buffer-limit", "pubsub 0 0 0",
            ]
        }
    }

    private func waitUntilListening() throws {
        let deadline = Date().addingTimeInterval(60)
        while Date() < deadline {
            if !process.isRunning { throw Options.Failure(description: "\(kind.rawValue) does not start") }
            if Socket.accepts(port) { return }
            Thread.sleep(forTimeInterval: 0.005)
        }
        stop()
        throw Options.Failure(description: "\(kind.rawValue) does not listen")
    }

    // MARK: Processor time and memory

    /// The processor time of all threads, including ended ones, in nanoseconds.
    var processorNanoseconds: UInt64 {
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(pid, &clock) == 0, unsafe clock_gettime(clock, &time) == 0 else { return 0 }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The resident memory, in bytes.
    var residentByteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let number = line?.split(separator: " ").compactMap { Int($0) }.first
        return (number ?? 0) * 1024
    }
}

/// A connection test of a port.
private enum Socket {
    static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
