import MartletLink
import MartletMetrics
import MartletWire

/// What the sessions of a loop have counted since the start.
package struct SessionCounts: Sendable {
    /// Messages queued for members.
    package var deliveries: UInt64 = 0
    /// Refused messages, by code.
    package var refusals = CodeCounts()
    /// Sessions that the relay has reset, by code.
    package var resets = CodeCounts()
}

/// The batches of other relays that the copies of rooms have taken.
package struct ReplicatedBatches: Equatable, Sendable {
    /// From the bus.
    package var fromBus: UInt64 = 0
    /// From the store: by a read, or by the answer to an append that was not first.
    package var fromStore: UInt64 = 0
}

/// The measurements of an engine, or the sum of several loops.
package struct EngineMetrics: Sendable {
    package var statistics = RelayStatistics()
    package var counts = SessionCounts()
    package var replicated = ReplicatedBatches()
    /// The frames and bytes of all links.
    package var traffic = LinkCounters()
    /// The smoothed round-trip times of the links that have a connection.
    package var roundTrips = Histogram()
    /// Calls of the request handler, the attachment store and the room policy in progress.
    package var answerCount = 0
    package var attachmentCount = 0
    package var decisionCount = 0
    /// Sessions of links.
    package var sessions = 0
    /// The bytes that each owner holds.
    package var linkByteCount = 0
    package var roomByteCount = 0
    package var accountByteCount = 0
    package var connectionByteCount = 0

    package init() {}

    package static func += (sum: inout EngineMetrics, other: EngineMetrics) {
        sum.statistics = sum.statistics + other.statistics
        sum.counts.deliveries += other.counts.deliveries
        sum.counts.refusals += other.counts.refusals
        sum.counts.resets += other.counts.resets
        sum.replicated.fromBus += other.replicated.fromBus
        sum.replicated.fromStore += other.replicated.fromStore
        sum.traffic += other.traffic
        sum.roundTrips += other.roundTrips
        sum.answerCount += other.answerCount
        sum.attachmentCount += other.attachmentCount
        sum.decisionCount += other.decisionCount
        sum.sessions += other.sessions
        sum.linkByteCount += other.linkByteCount
        sum.roomByteCount += other.roomByteCount
        sum.accountByteCount += other.accountByteCount
        sum.connectionByteCount += other.connectionByteCount
    }
}
