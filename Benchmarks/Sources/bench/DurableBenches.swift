import BenchHarness
import CBaselines
import Foundation
import Martlet

/// The relay with a store on the disk, compared with other servers that store each message. A message is accepted when
/// it is synced. JetStream syncs its files every two minutes, Redis after each turn of its loop.
enum DurableBenches {
    static func cases(_ options: Options) -> [Case] {
        let contenders: [Contender] = [.stored, .jetstreamFile, .syncedStreams, .martlet]
        return [
            Case("durable/fdatasync of 4 KiB", per: "call", [Subject("disk") { try DiskTrial.run() }]),
            Case(
                "durable/1 to 1, 1,000 in flight", per: "message",
                contenders.map { $0.subject(options, ["--window", "1000", "--seconds", "3"]) }),
            Case(
                "durable/one message at a time", per: "message",
                [senders(100, options), senders(1, options)]),
        ]
    }

    /// Clients of which each sends a message when its last one was accepted. A single one has one commit per message.
    private static func senders(_ count: Int, _ options: Options) -> Subject {
        Subject(count == 1 ? "1 sender" : "\(count) senders") {
            try LoadProcess.trial(
                .storedMartlet, options,
                [CommandLine.arguments[0], "senders-load", "--senders", "\(count)", "--seconds", "\(options.seconds)"])
        }
    }
}

/// The duration of fdatasync(2) after an append, on the disk of the servers' files.
enum DiskTrial {
    private static let count = 200

    static func run() throws -> Sample {
        let file = FileManager.default.temporaryDirectory.appending(path: "martlet-bench-\(UUID().uuidString)")
        let descriptor = unsafe open(file.path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw Options.Failure(description: "\(file.path) cannot be created") }
        defer {
            close(descriptor)
            try? FileManager.default.removeItem(at: file)
        }
        let block = [UInt8](repeating: 0x6D, count: 4096)
        var durations: [UInt64] = []
        for _ in 0..<count {
            guard unsafe write(descriptor, block, block.count) == block.count else { break }
            let start = measure_now()
            fdatasync(descriptor)
            durations.append(measure_now() - start)
        }
        guard durations.count == count else { throw Options.Failure(description: "\(file.path) cannot be written") }
        return ["microseconds": Double(durations.sorted()[count / 2]) / 1000]
    }
}

/// The load process of `DurableBenches.senders`.
enum SendersLoad {
    private static let text = String(repeating: "m", count: 64)

    static func run(_ options: Options) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            for number in 0..<options.senders {
                group.addTask { try await send(from: number, options) { start.yield() } }
            }
            var ready = 0
            for await _ in starts {
                ready += 1
                if ready == options.senders { break }
            }
            say("begin")
            var count = 0
            for try await sent in group { count += sent }
            say("end")
            say("{\"perSecond\":\(Double(count) / options.seconds),\"messages\":\(count)}")
        }
    }

    /// Counts the messages that are accepted within the measured time, which begins when the room is open.
    private static func send(from number: Int, _ options: Options, isReady: () -> Void) async throws -> Int {
        var configuration = Client.Configuration()
        configuration.watchesPath = false
        let client = try Client(
            to: "martlet://127.0.0.1:\(options.port ?? 7227)", as: .anonymous("sender\(number)"),
            configuration: configuration)
        return try await withClient(client) { client in
            let room = try await client.open(room: "bench\(number)", options: .init(includesOwnMessages: false))
            _ = try await room.send(text).accepted()
            isReady()
            let start = measure_now()
            var count = 0
            while Double(measure_now() - start) < options.seconds * 1e9 {
                _ = try await room.send(text).accepted()
                count += 1
            }
            return count
        }
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
