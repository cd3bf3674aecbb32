import Foundation
import MartletToolSupport

/// `martlet-lab storm`: the reconnection of thousands of clients after their relay is killed.
enum StormCommand {
    private static let clients = Option.count(
        "clients", in: 1...100_000, fallback: 10_000, help: "number of clients")
    private static let members = Option.count(
        "members", in: 1...1000, fallback: 20, help: "number of clients in a room")
    private static let down = Option.duration(
        "down", "S", in: .seconds, fallback: .seconds(1), help: "duration between the kill and the restart of the relay"
    )
    private static let tls = Option.flag("tls", help: "use TLS, with certificates of martlet dev-cert")

    static let spec = CommandSpec(
        name: "storm",
        summary: "Kill a relay with 10,000 clients, and measure their reconnection.",
        options: [clients.spec, members.spec, down.spec, tls.spec],
        notes: [
            """
            The relay is a child process, which is killed and restarted on the same port. All clients must reconnect \
            within \(Quantity.text(StormRun.maxBackAfter)), with at most \
            \(Quantity.grouped(StormRun.maxConnectsPerSecond)) attempts in any second and a mean of at most \
            \(Int(StormRun.maxMeanAttempts)) attempts of a client, and their messages must then be accepted.
            """,
            "Each client needs a descriptor in both processes. The command raises its limit to the permitted maximum.",
        ],
        exitCodes: [
            ExitMeaning(.success, "all requirements were met"),
            ExitMeaning(.failure, "a requirement was not met"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let count = arguments[clients] ?? 10_000
        let limit = Descriptors.raiseLimit()
        guard limit > count + 64 else {
            throw CommandError(.failure, "\(count) clients need more than the permitted \(limit) descriptors")
        }
        let storm = StormRun(
            clientCount: count, roomSize: arguments[members] ?? 20, downtime: arguments[down] ?? .seconds(1),
            usesTLS: arguments.has(tls)
        ) { Output.report("storm: \($0)") }
        let outcome = try await storm.run()
        for line in lines(of: outcome, count) { try Output.print(line) }
        return outcome.isSuccess ? .success : .failure
    }

    private static func lines(of outcome: StormRun.Outcome, _ count: Int) -> [String] {
        let tally = outcome.tally
        func back(_ percent: Int) -> String { tally.back(percent: percent).map { Quantity.text($0) } ?? "never" }
        func row(_ name: String, _ value: String, _ bar: String) -> String {
            "  " + name.padding(toLength: 34, withPad: " ", startingAt: 0)
                + value.padding(toLength: 14, withPad: " ", startingAt: 0) + bar
        }
        let memory = (outcome.relay?.residentByteCount).map { Quantity.text(byteCount: $0) } ?? "?"
        let processor = (outcome.relay?.processorTime).map { Quantity.text($0) } ?? "?"
        return [
            row("clients reconnected", Quantity.grouped(tally.backCount), "of \(Quantity.grouped(count))"),
            row("50 % of them after", back(50), ""),
            row("99 % after", back(99), ""),
            row("100 % after", back(100), "at most \(Quantity.text(StormRun.maxBackAfter))"),
            row(
                "maximum attempts in a second", Quantity.grouped(tally.attempts.count),
                "at most \(Quantity.grouped(StormRun.maxConnectsPerSecond))"),
            row(
                "maximum accepted in a second", Quantity.grouped(outcome.maxAcceptedInSecond),
                "at most \(Quantity.grouped(StormRun.maxConnectsPerSecond))"),
            row(
                "attempts of a client, mean", Quantity.fixed(tally.meanAttempts, digits: 2),
                "at most \(Quantity.fixed(StormRun.maxMeanAttempts, digits: 0))"),
            row("attempts of a client, maximum", "\(tally.mostAttempts)", ""),
            row("messages accepted afterwards", Quantity.grouped(outcome.acceptedCount), "one of each client"),
            row("memory of the new relay", memory, ""),
            row("processor time of the new relay", processor, ""),
        ]
    }
}
