import BenchHarness
import Foundation

/// A load as a process on the second core. It writes "begin" and "end" around the measured part, then one line of JSON.
enum LoadProcess {
    /// The JSON result of a load.
    struct Outcome: Decodable {
        var perSecond: Double?
        var messages: Double?
        var p50: Double?
        var p99: Double?
        var samples: Int?
        var allocations: Double?
        var bytes: Double?
        var growth: Double?
    }

    /// Runs a load against a server and calls `mark` with each line before the JSON.
    static func run(_ command: [String], mark: (String) -> Void) throws -> Outcome {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["taskset", "-c", "1"] + command
        process.standardOutput = pipe
        try process.run()
        var outcome: Outcome?
        var rest = ""
        while true {
            let data = pipe.fileHandleForReading.availableData
            if data.isEmpty { break }
            rest += String(decoding: data, as: UTF8.self)
            while let end = rest.firstIndex(of: "\n") {
                let line = String(rest[..<end])
                rest = String(rest[rest.index(after: end)...])
                if line.hasPrefix("{") {
                    outcome = try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
                } else {
                    mark(line)
                }
            }
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0, let outcome else {
            throw Options.Failure(description: "the load failed")
        }
        return outcome
    }

    /// One trial: a new server, the load, and the server's processor time.
    static func trial(_ kind: ServerProcess.Kind, _ options: Options, _ load: [String]) throws -> Sample {
        let server = try ServerProcess(kind, options)
        defer { server.stop() }
        var begin: UInt64 = 0
        var end: UInt64 = 0
        var resident = 0
        let outcome = try run(load + ["--port", "\(server.port)"]) { line in
            if line == "begin" { begin = server.processorNanoseconds }
            if line == "end" {
                end = server.processorNanoseconds
                resident = server.residentByteCount
            }
        }
        var sample: Sample = ["residentMiB": Double(resident) / 1048576]
        sample["perSecond"] = outcome.perSecond
        if let messages = outcome.messages, messages > 0 {
            sample["serverMicroseconds"] = Double(end - begin) / 1000 / messages
        }
        if outcome.samples ?? 0 > 0 {
            sample["p50"] = outcome.p50
            sample["p99"] = outcome.p99
        }
        sample["allocations"] = outcome.allocations
        sample["bytes"] = outcome.bytes
        sample["growthMiB"] = outcome.growth
        return sample
    }
}
