import Foundation
import MartletToolSupport

/// `martlet-lab storm`: a relay is killed with thousands of clients on it.
enum StormCommand {
    private static let clients = Option.count(
        "clients", in: 1...100_000, fallback: 10_000, help: "how many clients there are")
    private static let members = Option.count(
        "members", in: 1...1000, fallback: 20, help: "how many of them are in a room together")
    private static let down = Option.duration(
        "down", "S", in: .seconds, fallback: .seconds(1), help: "how long the relay is away")

    static let spec = CommandSpec(
        name: "storm",
        summary: "A relay killed with 10,000 clients on it: how soon all are back.",
        options: [clients.spec, members.spec, down.spec],
        notes: [
            """
            The relay is another process, on a port of this machine; it is killed, and another is started. All have to \
            be back within \(Quantity.text(StormRun.maxBackAfter)), with \
            \(Quantity.grouped(StormRun.maxConnectsPerSecond)) attempts to connect in any second at the most, and \
            \(Int(StormRun.maxMeanAttempts)) each on average, and what they say then has to be accepted.
            """,
            "It needs a descriptor for each client, in both processes, and raises its own limit as far as it may.",
        ],
        exitCodes: [
            ExitMeaning(.success, "they are"), ExitMeaning(.failure, "they are not"),
            ExitMeaning(.interrupted, "it was interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let count = arguments[clients] ?? 10_000
        let limit = Descriptors.raiseLimit()
        guard limit > count + 64 else {
            throw CommandError(.failure, "\(count) clients need more descriptors than the \(limit) that there may be")
        }
        let storm = StormRun(
            clientCount: count, roomSize: arguments[members] ?? 20, downtime: arguments[down] ?? .seconds(1)
        ) { Output.report("storm: \($0)") }
        let outcome = try await storm.run()
        for line in lines(of: outcome, count) { try Output.print(line) }
        return outcome.isGood ? .success : .failure
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
            row("clients that are back", Quantity.grouped(tally.backCount), "of \(Quantity.grouped(count))"),
            row("half of them after", back(50), ""),
            row("99 of 100 after", back(99), ""),
            row("all after", back(100), "at most \(Quantity.text(StormRun.maxBackAfter))"),
            row(
                "attempts in the busiest second", Quantity.grouped(tally.attempts.count),
                "at most \(Quantity.grouped(StormRun.maxConnectsPerSecond))"),
            row(
                "let in in the busiest second", Quantity.grouped(outcome.mostLetIn),
                "at most \(Quantity.grouped(StormRun.maxConnectsPerSecond))"),
            row(
                "attempts of a client, mean", Quantity.fixed(tally.meanAttempts, digits: 2),
                "at most \(Quantity.fixed(StormRun.maxMeanAttempts, digits: 0))"),
            row("attempts of a client, most", "\(tally.mostAttempts)", ""),
            row("messages accepted after it", Quantity.grouped(outcome.acceptedCount), "one of each client"),
            row("the new relay's memory", memory, ""),
            row("the new relay's processor time", processor, ""),
        ]
    }
}
