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
            "Run real clients and a relay in virtual time with random faults, and check the promises of their API.",
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
            ExitMeaning(.success, "no promise was broken"),
            ExitMeaning(.failure, "a promise was broken, or a seed gave two different runs"),
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
        let run = LivesRun(
            range, lasting: .seconds(60 * (arguments[minutes] ?? 60)), keepsTrace: arguments.has(trace),
            isTwice: arguments.has(twice))
        let jobCount = arguments[jobs] ?? ProcessInfo.processInfo.activeProcessorCount
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<jobCount { group.addTask { run.runSeeds() } }
        }
        let tally = run.tally
        for line in tally.trace { try Output.print(line) }
        for line in tally.lines(realTime: clock.now - began) { try Output.print(line) }
        for seed in tally.unequalSeeds.sorted() { Output.report("seed \(seed) gave two different runs") }
        for (seed, broken) in tally.broken.sorted(by: { $0.key < $1.key }) {
            Output.report("seed \(seed) failed; see: martlet-lab lives --seeds \(seed) --trace")
            for promise in broken { Output.report("  \(promise)") }
        }
        return tally.broken.isEmpty && tally.unequalSeeds.isEmpty ? .success : .failure
    }
}

/// The seeds of a run, shared by its workers, and their results.
private final class LivesRun: Sendable {
    private let range: SeedRange
    private let duration: Duration
    private let keepsTrace: Bool
    private let isTwice: Bool
    private let state: Guarded<(next: UInt64?, tally: LivesTally)>

    init(_ range: SeedRange, lasting duration: Duration, keepsTrace: Bool, isTwice: Bool) {
        self.range = range
        self.duration = duration
        self.keepsTrace = keepsTrace
        self.isTwice = isTwice
        state = Guarded((range.seeds.lowerBound, LivesTally()))
    }

    var tally: LivesTally { state.withLock { $0.tally } }

    func runSeeds() {
        while !Task.isCancelled, let seed = nextSeed() {
            let result = run(seed, keepsTrace: keepsTrace)
            let isEqual = !isTwice || run(seed, keepsTrace: false).traceHash == result.traceHash
            if Task.isCancelled { break }
            state.withLock { $0.tally.add(result, isEqual: isEqual) }
        }
    }

    private func run(_ seed: UInt64, keepsTrace: Bool) -> ClientLives.Result {
        ClientLives.run(seed: seed, duration: duration, keepsTrace: keepsTrace) { LifeTimelineFile($0) }
    }

    private func nextSeed() -> UInt64? {
        state.withLock { state in
            guard let seed = state.next else { return nil }
            state.next = seed < range.seeds.upperBound ? seed + 1 : nil
            return seed
        }
    }
}
