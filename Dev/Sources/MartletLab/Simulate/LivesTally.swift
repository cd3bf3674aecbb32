import MartletSimulator
import MartletToolSupport

/// The combined results of `martlet-lab lives`.
struct LivesTally: Sendable {
    private(set) var seedCount = 0
    private(set) var virtualTime = Duration.zero
    private var lifeCount = 0
    private var callCount = 0
    private var messageCount = 0
    private var shownCount = 0
    private var faultCount = 0
    private var connectionCount = 0
    /// The hash of all traces, independent of the order of the runs.
    private(set) var traceHash: UInt64 = 0
    private(set) var trace: [String] = []
    private(set) var broken: [UInt64: [BrokenPromise]] = [:]
    private(set) var unequalSeeds: [UInt64] = []

    mutating func add(_ result: ClientLives.Result, isEqual: Bool) {
        seedCount += 1
        virtualTime += result.virtualTime
        lifeCount += result.lifeCount
        callCount += result.callCount
        messageCount += result.messageCount
        shownCount += result.shownCount
        faultCount += result.faultCount
        connectionCount += result.connectionCount
        traceHash &+= result.traceHash &* (2 &* result.seed &+ 1)
        trace += result.trace
        if !result.broken.isEmpty { broken[result.seed] = result.broken }
        if !isEqual { unequalSeeds.append(result.seed) }
    }

    /// Returns the table at the end.
    func lines(realTime: Duration) -> [String] {
        let hours = Quantity.seconds(virtualTime) / 3600
        let ratio = Quantity.seconds(virtualTime) / max(Quantity.seconds(realTime), 1e-9)
        return [
            "  seeds          \(Quantity.grouped(seedCount))",
            "  clients        \(Quantity.grouped(lifeCount)), \(Quantity.grouped(connectionCount)) connections",
            "  calls          \(Quantity.grouped(callCount))",
            "  messages       \(Quantity.grouped(messageCount)), shown \(Quantity.grouped(shownCount)) times",
            "  faults         \(Quantity.grouped(faultCount))",
            "  virtual time   \(Quantity.grouped(Int(hours))) hours of devices in \(Quantity.text(realTime)), "
                + "\(Quantity.grouped(Int(ratio))) times as fast",
            "  trace hash     \(String(traceHash, radix: 16))",
            "  failed seeds   \(Quantity.grouped(broken.count))",
        ]
    }
}
