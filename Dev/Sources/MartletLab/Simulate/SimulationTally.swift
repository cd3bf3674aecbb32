import MartletSimulator
import MartletToolSupport

/// The combined results of simulations.
struct SimulationTally: Sendable {
    /// The maximum number of failures that are kept. Further ones are only counted.
    static let maxFailures = 5

    private(set) var seedCount = 0
    private(set) var messageCount = 0
    private(set) var deliveryCount = 0
    private(set) var answerCount = 0
    private(set) var pageCount = 0
    private(set) var faultCount = 0
    private(set) var connectionCount = 0
    private(set) var handshakeCount = 0
    private(set) var resumptionCount = 0
    private(set) var virtualTime = Duration.zero
    /// The maximum duration of a run after its last fault had ended.
    private(set) var settlingTime = Duration.zero
    private(set) var failureCount = 0
    private(set) var failures: [Simulation.Result] = []
    /// The hash of all traces, independent of the order of the runs.
    private(set) var traceHash: UInt64 = 0

    mutating func add(_ result: Simulation.Result) {
        seedCount += 1
        messageCount += result.messageCount
        deliveryCount += result.deliveryCount
        answerCount += result.answerCount
        pageCount += result.pageCount
        faultCount += result.faultCount
        connectionCount += result.connectionCount
        handshakeCount += result.handshakeCount
        resumptionCount += result.resumptionCount
        virtualTime += result.virtualTime
        settlingTime = max(settlingTime, result.settlingTime)
        traceHash &+= result.traceHash &* (2 &* result.seed &+ 1)
        guard !result.violations.isEmpty else { return }
        failureCount += 1
        failures.append(result)
        failures.sort { $0.seed < $1.seed }
        if failures.count > Self.maxFailures { failures.removeLast() }
    }

    /// Returns the table at the end.
    func lines(realTime: Duration) -> [String] {
        let ratio = Quantity.seconds(virtualTime) / max(Quantity.seconds(realTime), 1e-9)
        let perSecond = Double(seedCount) / max(Quantity.seconds(realTime), 1e-9)
        return [
            "  seeds          \(Quantity.grouped(seedCount)), \(Quantity.fixed(perSecond, digits: 1)) a second",
            "  messages       \(Quantity.grouped(messageCount)), delivered \(Quantity.grouped(deliveryCount)) times",
            "  requests       \(Quantity.grouped(answerCount)) answered by other members, "
                + "\(Quantity.grouped(pageCount)) pages of history",
            "  faults         \(Quantity.grouped(faultCount)), connections \(Quantity.grouped(connectionCount))",
            "  virtual time   \(Quantity.clock(virtualTime)) in \(Quantity.text(realTime)), "
                + "\(Quantity.grouped(Int(ratio))) times as fast",
            "  TLS            \(Quantity.grouped(handshakeCount)) handshakes, "
                + "\(Quantity.grouped(resumptionCount)) of them resumed",
            "  settled        within \(Quantity.text(settlingTime)) after the last fault",
            "  trace hash     \(String(traceHash, radix: 16))",
            "  failed seeds   \(Quantity.grouped(failureCount))",
        ]
    }

    func json(realTime: Duration) -> JSONLine {
        .object([
            .init("seeds", .count(seedCount)), .init("messages", .count(messageCount)),
            .init("deliveries", .count(deliveryCount)),
            .init("answers", .count(answerCount)), .init("pages", .count(pageCount)),
            .init("faults", .count(faultCount)),
            .init("connections", .count(connectionCount)), .init("handshakes", .count(handshakeCount)),
            .init("resumptions", .count(resumptionCount)), .init("virtualMs", .milliseconds(virtualTime)),
            .init("settlingMs", .milliseconds(settlingTime)),
            .init("realMs", .milliseconds(realTime)), .init("traceHash", .string(String(traceHash, radix: 16))),
            .init("failedSeeds", .count(failureCount)),
            .init("firstFailedSeed", failures.first.map { .count($0.seed) } ?? .null),
        ])
    }
}
