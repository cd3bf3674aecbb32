import MartletToolSupport

/// `martlet-lab soak`: a long conversation of several hundred clients over faulty links.
enum SoakCommand {
    private static let minutes = Option.count(
        "minutes", in: 1...10_000, fallback: 30, help: "duration of the conversation")
    private static let clients = Option.count(
        "clients", in: 1...5000, fallback: 200, help: "number of clients, 20 in each room")
    private static let pause = Option.duration(
        "pause", "S", in: .seconds, fallback: .seconds(2), isZeroAllowed: false,
        help: "average time between two messages of a client")

    static let spec = CommandSpec(
        name: "soak",
        summary: "Run a long conversation over faulty links, and check losses, duplicates and growth.",
        options: [minutes.spec, clients.spec, pause.spec],
        notes: [
            """
            The relay is a child process; the clients and four weak links, which cut all their connections every 17 to \
            37 seconds, are in this process. A client runs for 30 to 120 seconds; then another client continues with \
            its outbox. Every member of a room must receive every message once and in order.
            """,
            """
            After a third of the time, at most ten minutes, memory may grow by at most \
            \(Quantity.fixed(SoakRun.maxSlope, digits: 0)) MiB an hour, computed by least squares, and the numbers of \
            descriptors and threads may not grow.
            """,
            """
            With the GNU C library the threads of each process share one heap, and freed memory is released every two \
            seconds, so that only memory in use is measured.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "no message was lost or duplicated, and no resource grew"),
            ExitMeaning(.failure, "the check failed"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        Descriptors.raiseLimit()
        let soak = SoakRun(
            clientCount: arguments[clients] ?? 200, duration: .seconds(60 * (arguments[minutes] ?? 30)),
            pause: arguments[pause] ?? .seconds(2), lifetime: 30...120
        ) { try? Output.print(minute($0)) }
        try Output.print("  min     sent    received   lost doubled  relay MiB  fds thr   clients MiB  fds thr")
        let report = try await soak.run()
        for line in lines(of: report, soak) { try Output.print(line) }
        return report.isSuccess ? .success : .failure
    }

    private static func minute(_ report: SoakRun.Report) -> String {
        right(Int(report.elapsed / .seconds(60)), 5) + right(report.sentCount, 9) + right(report.receivedCount, 12)
            + right(report.lostCount, 7) + right(report.duplicateCount, 7) + columns(of: report.relay, 12)
            + columns(of: report.clients, 14)
    }

    private static func columns(of figures: SoakFigures, _ width: Int) -> String {
        guard let latest = figures.latest else { return "" }
        let memory = Quantity.fixed(Double(latest.residentByteCount) / 1_048_576, digits: 1)
        return String(repeating: " ", count: max(0, width - memory.count)) + memory + right(latest.descriptorCount, 5)
            + right(latest.threadCount, 4)
    }

    private static func lines(of report: SoakRun.Report, _ soak: SoakRun) -> [String] {
        let lives = "\(Quantity.grouped(report.clientCount)) clients, \(Quantity.grouped(report.reconnects))"
        let rows = [("relay", report.relay), ("clients", report.clients)].map { name, figures in
            let slope = figures.memory.slope.map { Quantity.fixed($0, digits: 2) } ?? "?"
            return "  \(name): \(slope) MiB an hour after \(Quantity.text(soak.warmUp)), at most "
                + "\(Quantity.fixed(SoakRun.maxSlope, digits: 0)); descriptors \(signed(figures.descriptors.drift)), "
                + "threads \(signed(figures.threads.drift)), at most \(SoakRun.maxDrift)"
        }
        return [
            "  \(Quantity.grouped(report.sentCount)) messages, "
                + "received \(Quantity.grouped(report.receivedCount)) times; "
                + "\(report.lostCount) lost, \(report.duplicateCount) duplicates",
            "  \(lives) reconnects",
            "  memory: resident; threads share a heap (M_ARENA_MAX), freed memory is released (malloc_trim)",
        ] + rows
    }

    private static func signed(_ number: Int) -> String { number > 0 ? "+\(number)" : "\(number)" }

    private static func right(_ number: Int, _ width: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
