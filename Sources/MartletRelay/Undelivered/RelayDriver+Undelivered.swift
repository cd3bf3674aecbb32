import MartletLink
import MartletTransport

/// Calls of the handler of undelivered messages, which the engine reports only if there is one.
extension RelayDriver {
    func report(_ reports: [UndeliveredReport]) {
        undelivered.add(reports)
        continueReports()
    }

    /// The counts of the engine and of this loop.
    var statistics: RelayStatistics {
        var statistics = engine.statistics
        statistics.undeliveredReports = undelivered.startedCount
        statistics.undeliveredReportsDropped = undelivered.droppedCount
        return statistics
    }

    /// Cancels the calls in progress; no further ones begin.
    func endReports() {
        for task in reportCalls.values { task.cancel() }
    }

    private func continueReports() {
        if let count = undelivered.takeDropped(now: now) { parts.onEvent(.undeliveredReportsDropped(count)) }
        guard let handler = parts.undeliveredHandler, !isClosing else { return }
        while let report = undelivered.next() {
            let number = undelivered.startedCount
            reportCalls[number] = loop.startTask { [parts, loop] in
                do {
                    try await handler.report(report)
                } catch {
                    if !(error is CancellationError) { parts.onEvent(.undeliveredFailed(report.room, error)) }
                }
                loop.execute {
                    self.enter()
                    self.reportCalls[number] = nil
                    self.undelivered.ended()
                    self.continueReports()
                }
            }
        }
    }
}
