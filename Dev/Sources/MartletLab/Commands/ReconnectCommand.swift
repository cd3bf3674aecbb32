import Foundation
import Martlet
import MartletToolSupport

/// `martlet-lab reconnect`: the reconnection of clients with the library's default configuration.
enum ReconnectCommand {
    private static let seconds = Option.duration(
        "seconds", "S", in: .seconds, fallback: .seconds(60), isZeroAllowed: false,
        help: "duration of the run over a path with cuts")
    private static let every = Option.duration(
        "cut-every", "S", in: .seconds, fallback: .seconds(3), isZeroAllowed: false, help: "interval between cuts")
    private static let restarts = Option.count("restarts", in: 1...1000, fallback: 5, help: "number of restarts")
    private static let clients = Option.count("clients", in: 1...1000, fallback: 20, help: "number of clients")
    private static let down = Option.duration(
        "down", "S", in: .seconds, fallback: .seconds(3), help: "duration between a kill and a restart of the relay")

    static let spec = CommandSpec(
        name: "reconnect",
        summary: "Measure reconnections with the default configuration of the library.",
        options: [seconds.spec, every.spec, restarts.spec, clients.spec, down.spec],
        notes: [
            """
            First a client sends ten messages a second over a path with a delay of 150 ms ± 50 ms in each direction, \
            whose connections are cut. It must be online for \(Int(ReconnectRun.minOnlinePercent)) % of the time, and \
            half of the messages must be accepted within \(Quantity.text(ReconnectRun.maxMedian)). Then a relay with \
            several clients is killed and restarted. All of them must be online within \
            \(Quantity.text(ReconnectRun.maxBackAfter)) after it listens again.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "all requirements were met"),
            ExitMeaning(.failure, "a requirement was not met"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let run = ReconnectRun { Output.report("reconnect: \($0)") }
        let cuts = try await run.cuts(
            every: arguments[every] ?? .seconds(3), delay: .milliseconds(150), jitter: .milliseconds(50),
            for: arguments[seconds] ?? .seconds(60))
        func row(_ name: String, _ value: String, _ bar: String) throws {
            try Output.print(
                "  " + name.padding(toLength: 34, withPad: " ", startingAt: 0)
                    + value.padding(toLength: 14, withPad: " ", startingAt: 0) + bar)
        }
        try row("cuts", "\(cuts.cutCount)", "")
        try row(
            "online", "\(Quantity.fixed(cuts.onlinePercent, digits: 1)) %",
            "at least \(Int(ReconnectRun.minOnlinePercent)) %"
        )
        try row("messages accepted", "\(cuts.times.count)", "of \(cuts.messageCount)")
        try row(
            "50 % of them after", Quantity.text(cuts.time(percent: 50)),
            "at most \(Quantity.text(ReconnectRun.maxMedian))")
        try row("99 % after", Quantity.text(cuts.time(percent: 99)), "")
        let count = arguments[clients] ?? 20
        let times = try await run.restarts(
            count: arguments[restarts] ?? 5, clientCount: count, downtime: arguments[down] ?? .seconds(3))
        let worst = times.max() ?? .zero
        try row(
            "\(count) clients online after", Quantity.text(worst), "at most \(Quantity.text(ReconnectRun.maxBackAfter))"
        )
        return cuts.isSuccess && worst <= ReconnectRun.maxBackAfter ? .success : .failure
    }
}
