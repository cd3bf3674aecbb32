import MartletLink

/// Whether the database serves the store's calls, as decisions.
///
/// | state | owns | ends |
/// |---|---|---|
/// | available | nothing | a failure |
/// | away | the time of the first failure | an answer |
struct PostgresAvailability {
    /// What is to be reported or done.
    enum Change: Equatable {
        case lost
        case recovered(after: Duration)
        /// The calls that wait have to fail.
        case abandon
    }

    private let maxWait: Duration
    private var awaySince: Instant?
    /// Whether calls fail at once while the database is away, because the relay ends.
    var isEnding = false

    /// - Parameter maxWait: The maximum duration for which calls wait for a database that is away.
    init(maxWait: Duration) {
        self.maxWait = maxWait
    }

    /// Whether a new call fails at once.
    func refuses(now: Instant) -> Bool {
        awaySince.map { isEnding || now - $0 >= maxWait } ?? false
    }

    /// An attempt to connect, or a statement, has failed for a reason that may pass.
    mutating func failed(now: Instant) -> [Change] {
        var changes: [Change] = []
        if awaySince == nil {
            awaySince = now
            changes.append(.lost)
        }
        if refuses(now: now) { changes.append(.abandon) }
        return changes
    }

    /// The database has answered.
    mutating func answered(now: Instant) -> Change? {
        defer { awaySince = nil }
        return awaySince.map { .recovered(after: now - $0) }
    }
}
