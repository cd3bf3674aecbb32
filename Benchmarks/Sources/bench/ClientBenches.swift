import BenchHarness
import CBaselines
import Foundation
import Martlet

/// The public API: `send` until the relay has accepted all messages, over a socket to a relay in another process.
enum ClientBenches {
    static func cases(_ options: Options) -> [Case] {
        [
            Case(
                "client/send to accepted", per: "message",
                [
                    Subject("martlet") {
                        try LoadProcess.trial(
                            .martlet, options,
                            [CommandLine.arguments[0], "client-load", "--seconds", "\(options.seconds)"])
                    }
                ]),
            Case(
                "client/flight recorder", per: "message",
                [("with", []), ("without", ["--no-recorder"])].map { name, words in
                    Subject(name) {
                        let load = [CommandLine.arguments[0], "client-load", "--seconds", "\(options.seconds)"]
                        return try LoadProcess.trial(.martlet, options, load + words)
                    }
                }),
            Case(
                "client/page of 50 messages", per: "page",
                [
                    Subject("martlet") {
                        try LoadProcess.trial(
                            .martlet, options,
                            [CommandLine.arguments[0], "history-load", "--seconds", "\(options.seconds)"])
                    }
                ]),
        ]
    }
}

/// The load process of `ClientBenches`.
enum ClientLoad {
    /// Messages between two readings of the clock.
    private static let batch = 1000
    private static let text = String(repeating: "m", count: 64)

    static func run(_ options: Options) async throws {
        var configuration = Client.Configuration()
        configuration.watchesPath = false
        if !options.hasRecorder { configuration.recordingByteCount = 0 }
        let client = try Client(
            to: "martlet://127.0.0.1:\(options.port ?? 7227)", as: .anonymous("bench"), configuration: configuration)
        try await withClient(client) { client in
            let room = try await client.open(room: "bench", options: .init(includesOwnMessages: false))
            let begin = measure_now()
            while measure_now() - begin < 500_000_000 { try await send(batch, to: room) }
            let resident = residentByteCount()
            say("begin")
            let start = measure_now()
            var count = 0
            measure_allocations_begin()
            while Double(measure_now() - start) < options.seconds * 1e9 {
                try await send(batch, to: room)
                count += batch
            }
            _ = try await room.send(text).accepted()
            let elapsed = Double(measure_now() - start) / 1e9
            let allocations = measure_allocations_end()
            say("end")
            let growth = Double(residentByteCount() - resident) / Double(1 << 20)
            say(
                """
                {"perSecond":\(Double(count) / elapsed),"messages":\(count),\
                "allocations":\(Double(allocations) / Double(count)),"growth":\(growth)}
                """)
        }
    }

    private static func send(_ count: Int, to room: Room) async throws {
        for _ in 0..<count { _ = try await room.send(text) }
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func residentByteCount() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}
