import BenchHarness
import CBaselines
import Foundation

/// The relay with a store on the disk, compared with other servers that store each message. A message is accepted when
/// it is synced. JetStream syncs its files every two minutes, Redis after each turn of its loop.
enum DurableBenches {
    static func cases(_ options: Options) -> [Case] {
        let contenders: [Contender] = [.stored, .jetstreamFile, .syncedStreams, .martlet]
        let load = ["--window", "1000", "--seconds", "3"]
        return [
            Case("durable/fdatasync of 4 KiB", per: "call", [Subject("disk") { try DiskTrial.run() }]),
            Case("durable/1 to 1, 1,000 in flight", per: "message", contenders.map { $0.subject(options, load) }),
            Case(
                "durable/one message at a time", per: "message",
                [senders(100, options), senders(1, options)]),
            synced(options, load),
        ]
    }

    /// JetStream whose writes are synchronous, as with `sync_interval: always`, which the Debian version does not have.
    private static func synced(_ options: Options, _ load: [String]) -> Case {
        Case(
            "durable/1 to 1, 1,000 in flight, JetStream synced", per: "message",
            [Contender.stored, .jetstreamSynced].map { $0.subject(options, load) })
    }

    /// Publishers in rooms of their own, of which each sends a message when its last one was accepted. A single one has
    /// one commit per message.
    private static func senders(_ count: Int, _ options: Options) -> Subject {
        let name = count == 1 ? "1 sender" : "\(count) senders"
        return Contender(name: name, kind: .storedMartlet, load: "martlet")
            .subject(options, ["--senders", "\(count)", "--seconds", "\(options.seconds)"])
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
