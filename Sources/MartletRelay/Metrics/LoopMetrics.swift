import MartletMetrics

/// What the driver of a loop measures beside its engine.
struct LoopMetrics: Sendable {
    /// The durations of calls of the store, and those that failed, by the name of the call.
    private(set) var storeCalls: [CallName: StoreCalls] = [:]
    /// The durations of turns.
    private(set) var turns = Histogram()

    struct StoreCalls: Sendable {
        var durations = Histogram()
        var failureCount: UInt64 = 0
    }

    /// The calls of a store.
    enum CallName: String, Sendable {
        case append, changes, load, read, readMemberships, saveMemberships, saveProgress, saveRetention, saveRoles
        case touch
    }

    /// The store has answered a call.
    mutating func answered(_ answer: StoreAnswer, after duration: Duration) {
        storeCalls[answer.name, default: StoreCalls()].durations.record(duration)
        if answer.isFailure { storeCalls[answer.name]?.failureCount += 1 }
    }

    mutating func turnEnded(after duration: Duration) { turns.record(duration) }

    static func += (sum: inout LoopMetrics, other: LoopMetrics) {
        for (name, calls) in other.storeCalls {
            sum.storeCalls[name, default: StoreCalls()].durations += calls.durations
            sum.storeCalls[name]?.failureCount += calls.failureCount
        }
        sum.turns += other.turns
    }
}

extension StoreAnswer {
    fileprivate var name: LoopMetrics.CallName {
        switch self {
        case .load: .load
        case .append: .append
        case .read: .read
        case .saveProgress: .saveProgress
        case .saveRoles: .saveRoles
        case .saveMemberships: .saveMemberships
        case .readMemberships: .readMemberships
        case .saveRetention: .saveRetention
        case .touch: .touch
        case .changes: .changes
        }
    }

    fileprivate var isFailure: Bool {
        switch self {
        case .load(_, .failure), .append(_, _, _, .failure), .read(_, _, .failure), .saveProgress(_, .failure),
            .saveRoles(_, .failure), .saveMemberships(_, .failure), .readMemberships(_, .failure), .touch(_, .failure),
            .changes(.failure), .saveRetention(_, _, .failure):
            true
        default: false
        }
    }
}
