import MartletSimulator
import MartletToolSupport

/// The combined results of simulations, or of lives of clients.
struct RunTally: Sendable {
    /// The maximum number of failures that are kept. Further ones are only counted.
    static let maxFailures = 5

    private(set) var seedCount = 0
    private(set) var virtualTime = Duration.zero
    private(set) var failureCount = 0
    private(set) var failures: [RunResult] = []
    private(set) var trace: [String] = []
    /// The sums of the counts of all runs, and the maximum duration after the last fault.
    private var sums = RunResult(seed: 0)
    /// The hash of all traces, independent of the order of the runs.
    private(set) var traceHash: UInt64 = 0

    private static let counts: [any WritableKeyPath<RunResult, Int> & Sendable] = [
        \.messageCount, \.deliveryCount, \.faultCount, \.connectionCount, \.answerCount, \.pageCount,
        \.handshakeCount, \.resumptionCount, \.lifeCount, \.callCount,
    ]

    mutating func add(_ result: RunResult) {
        seedCount += 1
        virtualTime += result.virtualTime
        trace += result.trace
        for count in Self.counts { sums[keyPath: count] += result[keyPath: count] }
        sums.settlingTime = max(sums.settlingTime, result.settlingTime)
        traceHash &+= result.traceHash &* (2 &* result.seed &+ 1)
        guard !result.violations.isEmpty else { return }
        failureCount += 1
        failures.append(result)
        failures.sort { $0.seed < $1.seed }
        if failures.count > Self.maxFailures { failures.removeLast() }
    }

    /// The table of simulations.
    func linesOfSimulations(realTime: Duration) -> [String] {
        let ratio = Quantity.seconds(virtualTime) / max(Quantity.seconds(realTime), 1e-9)
        let perSecond = Double(seedCount) / max(Quantity.seconds(realTime), 1e-9)
        return [
            "  seeds          \(Quantity.grouped(seedCount)), \(Quantity.fixed(perSecond, digits: 1)) a second",
            "  messages       \(Quantity.grouped(sums.messageCount)), "
                + "delivered \(Quantity.grouped(sums.deliveryCount)) times",
            "  requests       \(Quantity.grouped(sums.answerCount)) answered by other members, "
                + "\(Quantity.grouped(sums.pageCount)) pages of history",
            "  faults         \(Quantity.grouped(sums.faultCount)), "
                + "connections \(Quantity.grouped(sums.connectionCount))",
            "  virtual time   \(Quantity.clock(virtualTime)) in \(Quantity.text(realTime)), "
                + "\(Quantity.grouped(Int(ratio))) times as fast",
            "  TLS            \(Quantity.grouped(sums.handshakeCount)) handshakes, "
                + "\(Quantity.grouped(sums.resumptionCount)) of them resumed",
            "  settled        within \(Quantity.text(sums.settlingTime)) after the last fault",
            "  trace hash     \(String(traceHash, radix: 16))",
            "  failed seeds   \(Quantity.grouped(failureCount))",
        ]
    }

    /// The table of lives.
    func linesOfLives(realTime: Duration) -> [String] {
        let hours = Quantity.seconds(virtualTime) / 3600
        let ratio = Quantity.seconds(virtualTime) / max(Quantity.seconds(realTime), 1e-9)
        return [
            "  seeds          \(Quantity.grouped(seedCount))",
            "  clients        \(Quantity.grouped(sums.lifeCount)), "
                + "\(Quantity.grouped(sums.connectionCount)) connections",
            "  calls          \(Quantity.grouped(sums.callCount))",
            "  messages       \(Quantity.grouped(sums.messageCount)), "
                + "shown \(Quantity.grouped(sums.deliveryCount)) times",
            "  faults         \(Quantity.grouped(sums.faultCount))",
            "  virtual time   \(Quantity.grouped(Int(hours))) hours of devices in \(Quantity.text(realTime)), "
                + "\(Quantity.grouped(Int(ratio))) times as fast",
            "  trace hash     \(String(traceHash, radix: 16))",
            "  failed seeds   \(Quantity.grouped(failureCount))",
        ]
    }

    func json(realTime: Duration) -> JSONLine {
        .object([
            .init("seeds", .count(seedCount)), .init("messages", .count(sums.messageCount)),
            .init("deliveries", .count(sums.deliveryCount)),
            .init("answers", .count(sums.answerCount)), .init("pages", .count(sums.pageCount)),
            .init("faults", .count(sums.faultCount)),
            .init("connections", .count(sums.connectionCount)), .init("handshakes", .count(sums.handshakeCount)),
            .init("resumptions", .count(sums.resumptionCount)), .init("virtualMs", .milliseconds(virtualTime)),
            .init("settlingMs", .milliseconds(sums.settlingTime)),
            .init("realMs", .milliseconds(realTime)), .init("traceHash", .string(String(traceHash, radix: 16))),
            .init("failedSeeds", .count(failureCount)),
            .init("firstFailedSeed", failures.first.map { .count($0.seed) } ?? .null),
        ])
    }
}
