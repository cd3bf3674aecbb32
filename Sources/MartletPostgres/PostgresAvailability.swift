import MartletLink

/// Whether the database serves the store's calls, as decisions. A database that is read-only does not: an answer of a
/// connection that reads ends no failure of the one that writes.
///
/// | state | owns | ends |
/// |---|---|---|
/// | available | nothing | a failure |
/// | away | the time of the first failure | an answer, of the connection that writes if that one has failed |
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
    /// Whether the connection that writes has failed, and was not prepared again.
    private var writerIsAway = false
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
    mutating func failed(isWriter: Bool, now: Instant) -> [Change] {
        if isWriter { writerIsAway = true }
        var changes: [Change] = []
        if awaySince == nil {
            awaySince = now
            changes.append(.lost)
        }
        if refuses(now: now) { changes.append(.abandon) }
        return changes
    }

    /// The connection that writes is prepared again, and no call waits for it.
    mutating func writerReturned() { writerIsAway = false }

    /// The database has answered.
    mutating func answered(isWriter: Bool, now: Instant) -> Change? {
        if isWriter { writerIsAway = false }
        guard !writerIsAway else { return nil }
        defer { awaySince = nil }
        return awaySince.map { .recovered(after: now - $0) }
    }
}
