import Foundation
import MartletSimulator
import MartletToolSupport
import MartletTransport

/// The seeds of a run, shared by its workers, and their results.
final class SeedRun: Sendable {
    private struct State: Sendable {
        var next: UInt64?
        /// Seeds in progress.
        var runningCount = 0
        var tally = RunTally()
        var unequalSeeds: [UInt64] = []
    }

    private let range: SeedRange
    private let run: @Sendable (UInt64) -> RunResult
    private let isTwice: Bool
    private let endsAtFailure: Bool
    private let state: Guarded<State>

    init(
        _ range: SeedRange, isTwice: Bool, endsAtFailure: Bool = false,
        run: @escaping @Sendable (UInt64) -> RunResult
    ) {
        self.range = range
        self.run = run
        self.isTwice = isTwice
        self.endsAtFailure = endsAtFailure
        state = Guarded(State(next: range.seeds.lowerBound))
    }

    private var tally: RunTally { state.withLock { $0.tally } }
    var unequalSeeds: [UInt64] { state.withLock { $0.unequalSeeds.sorted() } }
    private var isOver: Bool { state.withLock { $0.next == nil && $0.runningCount == 0 } }

    /// Runs the seeds, by default one at a time for each processor.
    func tally(jobCount: Int?) async -> RunTally {
        let began = ContinuousClock.now
        let jobCount = jobCount ?? ProcessInfo.processInfo.activeProcessorCount
        return await withTaskGroup(of: Void.self) { group in
            for _ in 0..<jobCount { group.addTask { self.runSeeds() } }
            group.addTask { await self.show(since: began) }
            while await group.next() != nil { if isOver || Task.isCancelled { group.cancelAll() } }
            return tally
        }
    }

    private func runSeeds() {
        while !Task.isCancelled, let seed = nextSeed() {
            let result = run(seed)
            let isEqual = !isTwice || run(seed).traceHash == result.traceHash
            if Task.isCancelled { break }
            state.withLock { state in
                state.tally.add(result)
                // Lower seeds in progress continue, so that the lowest failing seed is reported.
                if endsAtFailure, !result.violations.isEmpty { state.next = nil }
                state.runningCount -= 1
                if !isEqual { state.unequalSeeds.append(seed) }
            }
        }
    }

    private func nextSeed() -> UInt64? {
        state.withLock { state in
            guard let seed = state.next else { return nil }
            state.runningCount += 1
            state.next = seed < range.seeds.upperBound ? seed + 1 : nil
            return seed
        }
    }

    /// Shows the progress on a terminal until all seeds are done.
    private func show(since began: ContinuousClock.Instant) async {
        guard isatty(STDOUT_FILENO) == 1 else { return }
        let block = LiveBlock()
        var meter = ProgressMeter(of: "seeds")
        while !isOver {
            let tally = tally
            meter.update(
                count: tally.seedCount, share: Double(tally.seedCount) / Double(range.count),
                now: ContinuousClock.now - began)
            let note = tally.failureCount > 0 ? "\(tally.failureCount) failed" : ""
            block.show([StyledLine(meter.line(columns: 79, note: note))])
            do { try await Task.sleep(for: .milliseconds(250)) } catch { break }
        }
        block.clear()
    }
}
