import Foundation
import MartletSimulator
import MartletToolSupport
import MartletTransport

/// `martlet-lab lives`: runs real clients and relays in a virtual network, in virtual time, from seeds.
enum LivesCommand {
    private static let seeds = Option<SeedRange>(
        "seeds", "A..B", fallback: SeedRange(parsing: "1..100"), shown: "1..100",
        expectation: "two numbers, as 1..100",
        help: "the seeds to run"
    ) { SeedRange(parsing: $0) }
    private static let minutes = Option.count(
        "minutes", in: 1...100_000, fallback: 60, help: "the virtual time of each seed before the faults end")
    private static let trace = Option.flag("trace", help: "print the observations of the applications")
    private static let twice = Option.flag("twice", help: "run every seed twice and compare the traces' hashes")
    private static let jobs = Option.count(
        "jobs", in: 1...256, help: "the number of seeds run at a time [one for each processor]")

    static let spec = CommandSpec(
        name: "lives",
        summary:
            "Run real clients and a relay in virtual time with random faults, and check the invariants.",
        options: [seeds.spec, minutes.spec, trace.spec, twice.spec, jobs.spec],
        notes: [
            """
            A seed determines two to four devices, their paths, outboxes and applications. The applications start \
            clients, open rooms, send, receive by deliveries, messages or items, leave loops, cancel tasks, request, \
            read history, change memberships, and are stopped, released and killed, over paths that are cut, blocked \
            and changed, with outboxes and stores that are slow, fail and are replaced by earlier copies, a relay \
            that is killed and restarted, and accounts that are banned and muted. At the end each call must have \
            ended, and log, outboxes, timelines, lists and all devices must agree. The same seed gives the same run.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "no invariant was violated"),
            ExitMeaning(.failure, "an invariant was violated, or a seed gave two different runs"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in
        try await Interruptions.cancel {
            try await withTaskExecutorPreference(SeedThreads()) { try await run(arguments) }
        }
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard let range = arguments[seeds] else { return .success }
        let clock = ContinuousClock()
        let began = clock.now
        let (duration, keepsTrace) = (Duration.seconds(60 * (arguments[minutes] ?? 60)), arguments.has(trace))
        let run = SeedRun(range, isTwice: arguments.has(twice)) {
            ClientLives.run(seed: $0, duration: duration, keepsTrace: keepsTrace) { LifeTimelineFile($0) }
        }
        let tally = await run.tally(jobCount: arguments[jobs])
        for line in tally.trace { try Output.print(line) }
        for line in tally.linesOfLives(realTime: clock.now - began) { try Output.print(line) }
        for seed in run.unequalSeeds { Output.report("seed \(seed) gave two different runs") }
        for failure in tally.failures {
            Output.report("seed \(failure.seed) failed; see: martlet-lab lives --seeds \(failure.seed) --trace")
            for violation in failure.violations { Output.report("  \(violation)") }
        }
        return tally.failureCount == 0 && run.unequalSeeds.isEmpty ? .success : .failure
    }
}
