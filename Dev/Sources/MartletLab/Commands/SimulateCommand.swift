import Foundation
import MartletSimulator
import MartletToolSupport
import MartletTransport

/// `martlet-lab simulate`: runs the engines in a simulated faulty network, in virtual time, from seeds.
enum SimulateCommand {
    private static let seeds = Option<SeedRange>(
        "seeds", "A..B", fallback: SeedRange(parsing: "1..1000"), shown: "1..1000",
        expectation: "two numbers, as 1..1000",
        help: "the seeds to run"
    ) { SeedRange(parsing: $0) }
    private static let replay = Option.number("replay", "S", help: "run this seed only")
    private static let trace = Option.flag("trace", help: "with --replay: print the devices' observations")
    private static let twice = Option.flag("twice", help: "run every seed twice and compare the traces' hashes")
    private static let hours = Option.count(
        "hours", in: 1...10_000, help: "the minimum virtual time of each scenario, with ten times longer intervals")
    private static let first = Option.flag("first", help: "stop at the first seed that fails, and do not shrink it")
    private static let relays = Option.count(
        "relays", in: 1...8, fallback: 1, help: "number of relays, which share the rooms through one store")
    private static let loops = Option.count(
        "loops", in: 1...64, fallback: 1, help: "number of loops of each relay")
    private static let store = Option<SimulationStoreKind>.choice(
        "store", fallback: .memory, help: "the store of the relay, and of the devices' messages and cursors")
    private static let jobs = Option.count(
        "jobs", in: 1...256, help: "the number of seeds run at a time [one for each processor]")
    private static let tls = Option.flag("tls", help: "run every scenario on a carrier with order, over TLS")
    private static let recordings = Option.text(
        "recordings", "DIR", help: "with --replay: write the flight recordings of the devices into DIR")
    private static let json = Option.flag("json", help: "print the result as a JSON object")

    static let spec = CommandSpec(
        name: "simulate",
        summary: "Run client and relay in virtual time with random faults, and check their invariants.",
        options: [
            seeds.spec, replay.spec, trace.spec, hours.spec, relays.spec, loops.spec, store.spec, tls.spec, twice.spec,
            first.spec, jobs.spec, recordings.spec, json.spec,
        ],
        notes: [
            """
            A seed determines a scenario: two to five devices in one or more rooms, at least 200 messages, 10 faults \
            (cuts, black holes in one or both directions, lost and duplicated frames, dropped NAT mappings, changes of \
            network, crashes of devices and the relay with loss of unsynced writes, failing stores, hosts and \
            applications that stop reading, revoked accounts). Users also read, type and send requests. The simulator \
            checks the outcome of every message and request, and the progress of every device. At the end the credit \
            of both ends must balance and no state may be left over. The same seed gives the same run.
            """,
            """
            For a failing seed the shortest scenario found with the same violation is printed.
            """,
            """
            With --relays clients reach any of the relays, and move between them. Relays are stopped for some seconds, \
            and do not reach the store, its reports or each other for some time; answers of the store, reports and \
            datagrams of the bus are lost, repeated and late. At the end the relays' copies of the rooms must equal \
            the store. Presence, receipts, typing and requests are checked also between members at different relays.
            """,
            """
            With --tls the faults act on the records of real TLS connections, whose clients keep tickets. Half of the \
            seeds have a carrier without order, which TLS cannot use; with --tls they have one with order.
            """,
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
        var environment = Environment(store: arguments[store])
        guard arguments.has(tls) else { return try await run(arguments, environment) }
        return try await withTemporaryFolder("simulate") {
            environment.tls = try VirtualTLS(folder: $0.path)
            return try await run(arguments, environment)
        }
    }

    /// The resources of a simulation: the store and the certificates.
    private struct Environment: Sendable {
        var store: SimulationStoreKind?
        var tls: VirtualTLS?

        func run(_ scenario: Scenario, keepsTrace: Bool = false) -> RunResult {
            Simulation.run(scenario, keepsTrace: keepsTrace, store: store?.make(), outbox: store?.makeOutbox, tls: tls)
        }
    }

    private static func run(_ arguments: ParsedArguments, _ environment: Environment) async throws -> ExitCode {
        if let seed = arguments[replay] { return try replay(seed, arguments, environment) }
        guard let range = arguments[seeds] else { return .success }
        let clock = ContinuousClock()
        let began = clock.now
        let seedRun = SeedRun(range, isTwice: arguments.has(twice), endsAtFailure: arguments.has(first)) {
            environment.run(scenario($0, arguments))
        }
        let tally = await seedRun.tally(jobCount: arguments[jobs])
        let took = clock.now - began
        if arguments.has(json) {
            try Output.print(tally.json(realTime: took).text)
        } else {
            for line in tally.linesOfSimulations(realTime: took) { try Output.print(line) }
        }
        for seed in seedRun.unequalSeeds { Output.report("seed \(seed) gave two different runs") }
        for failure in tally.failures { report(failure, arguments) }
        if !arguments.has(first), !Task.isCancelled, let failure = tally.failures.first {
            shrink(failure, arguments, environment)
        }
        return tally.failureCount == 0 && seedRun.unequalSeeds.isEmpty ? .success : .failure
    }

    private static func replay(
        _ seed: UInt64, _ arguments: ParsedArguments, _ environment: Environment
    ) throws -> ExitCode {
        let clock = ContinuousClock()
        let began = clock.now
        let folder = arguments[recordings]
        let keepsTrace = arguments.has(trace) || folder != nil
        let result = environment.run(scenario(seed, arguments), keepsTrace: keepsTrace)
        if arguments.has(trace) { for line in result.trace { try Output.print(line) } }
        if let folder { try write(result.recordings, to: folder) }
        var tally = RunTally()
        tally.add(result)
        let took = clock.now - began
        if arguments.has(json) {
            try Output.print(tally.json(realTime: took).text)
        } else {
            for line in tally.linesOfSimulations(realTime: took) { try Output.print(line) }
        }
        guard !result.violations.isEmpty else { return .success }
        report(result, arguments)
        shrink(result, arguments, environment)
        return .failure
    }

    private static func write(_ recordings: [[UInt8]], to folder: String) throws(CommandError) {
        for (number, recording) in recordings.enumerated() {
            let path = "\(folder)/device-\(number).flight"
            let descriptor = Descriptors.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
            guard descriptor >= 0 else { throw .system(.cannotCreate, "cannot create \(path)") }
            defer { close(descriptor) }
            try Output.write(recording, to: descriptor)
        }
    }

    private static func scenario(_ seed: UInt64, _ arguments: ParsedArguments) -> Scenario {
        var scenario = Scenario(
            seed: seed, lasting: .seconds(3600 * (arguments[hours] ?? 0)), relayCount: arguments[relays] ?? 1,
            loopCount: arguments[loops] ?? 1)
        if arguments.has(tls) { scenario.isReliable = true }
        return scenario
    }

    private static func report(_ result: RunResult, _ arguments: ParsedArguments) {
        let hours = arguments[hours].map { " --hours \($0)" } ?? ""
        let relays = arguments[relays].map { $0 > 1 ? " --relays \($0)" : "" } ?? ""
        let loops = arguments[loops].map { $0 > 1 ? " --loops \($0)" : "" } ?? ""
        let store = arguments[store] == .sqlite ? " --store sqlite" : ""
        let words = "\(hours)\(relays)\(loops)\(store)\(arguments.has(tls) ? " --tls" : "") --trace"
        Output.report("seed \(result.seed) failed; see: martlet-lab simulate --replay \(result.seed)\(words)")
        for violation in result.violations { Output.report("  \(violation)") }
    }

    private static func shrink(
        _ result: RunResult, _ arguments: ParsedArguments, _ environment: Environment
    ) {
        let invariant = result.violations[0].invariant
        var shrinker = Shrinker { environment.run($0).violations.first?.invariant == invariant }
        let scenario = shrinker.shrink(scenario(result.seed, arguments))
        Output.report(
            "the shortest scenario found in \(shrinker.runCount) runs, \(scenario.steps.count) steps:")
        for step in scenario.steps { Output.report("  \(Quantity.text(step.at)): \(step.action)") }
        for violation in environment.run(scenario).violations { Output.report("  \(violation)") }
    }
}
