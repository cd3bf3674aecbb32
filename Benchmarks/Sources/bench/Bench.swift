import BenchHarness
import CBaselines
import Foundation

@main
enum Bench {
    /// The benchmarks block their thread. The main thread runs the main actor, whose processor time is measured.
    static func main() {
        Task.detached {
            await start()
            exit(0)
        }
        RunLoop.main.run()
    }

    private static func start() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if options.suites.first == "client-load" { return try await ClientLoad.run(options) }
            if options.suites.first == "history-load" { return try await HistoryLoad.run(options) }
            if options.suites.first == "handshake-relay" { return try await HandshakeRelay.run(options) }
            if let (old, new) = options.compared {
                return print(Tables.comparison(try RunResult(contentsOf: old), try RunResult(contentsOf: new)))
            }
            if let name = options.counted { return try Instructions.runCounted(name, options) }
            try run(options)
        } catch {
            report("bench: \(error)")
            exit(2)
        }
    }

    private static func run(_ options: Options) throws {
        let cases = try Suites.cases(options)
        if options.isListing {
            for item in cases { print("\(item.name): \(item.subjects.map(\.name).joined(separator: ", "))") }
            return
        }
        var result = RunResult()
        let runner = Runner(rounds: options.rounds ?? 5, isVerbose: options.isVerbose)
        for item in cases {
            report("\(item.name) …")
            var outcome = runner.run(item)
            if options.countsInstructions { try Instructions.count(item, options, into: &outcome) }
            result.cases.append(outcome)
        }
        print(Tables.results(result))
        if let path = options.json { try result.write(to: path) }
        let verdicts = try options.thresholds.map { try Thresholds(contentsOf: $0).verdicts(on: result) } ?? []
        if !verdicts.isEmpty { print("\n" + Tables.verdicts(verdicts)) }
        if let path = options.report {
            try ReportPage.html(result, verdicts).write(toFile: path, atomically: true, encoding: .utf8)
        }
        let missed = verdicts.filter { !$0.isMet }
        if !missed.isEmpty {
            report("bench: \(missed.count) of \(verdicts.count) thresholds are not met")
            exit(1)
        }
    }
}
