package import MartletMetrics

/// Counts of a link since it began.
package struct LinkCounters: Equatable, Sendable {
    /// Frames sent again because they counted as lost or because a connection broke.
    package var retransmissions: UInt64 = 0
    /// Frames received more than once and dropped.
    package var duplicates: UInt64 = 0
    /// Frames written.
    package var framesSent: UInt64 = 0
    /// Frames received whole.
    package var framesReceived: UInt64 = 0
    /// Bytes of frames written, with headers.
    package var bytesSent: UInt64 = 0
    /// Bytes of frames received, with headers.
    package var bytesReceived: UInt64 = 0
    /// Resumes that the peer accepted.
    package var resumes: UInt64 = 0
    /// Frames of unknown type that were skipped.
    package var skipped: UInt64 = 0
    /// Round-trip times measured.
    package var roundTripSamples: UInt64 = 0

    package init() {}

    /// Adds the frames and bytes of links to a snapshot.
    package func add(to snapshot: inout MetricsSnapshot, prefix: String) {
        snapshot.addCounter("\(prefix)_frames_sent", "Frames sent.", framesSent)
        snapshot.addCounter("\(prefix)_frames_received", "Frames received.", framesReceived)
        snapshot.addCounter(
            "\(prefix)_frames_retransmitted", "Frames sent again, after a loss or on another connection.",
            retransmissions)
        snapshot.addCounter(
            "\(prefix)_frames_duplicate", "Frames discarded, because they had been received before.",
            duplicates)
        snapshot.addCounter("\(prefix)_sent_bytes", "Bytes of frames sent.", bytesSent)
        snapshot.addCounter("\(prefix)_received_bytes", "Bytes of frames received.", bytesReceived)
    }

    package static func += (sum: inout LinkCounters, other: LinkCounters) {
        sum.retransmissions += other.retransmissions
        sum.duplicates += other.duplicates
        sum.framesSent += other.framesSent
        sum.framesReceived += other.framesReceived
        sum.bytesSent += other.bytesSent
        sum.bytesReceived += other.bytesReceived
        sum.resumes += other.resumes
        sum.skipped += other.skipped
        sum.roundTripSamples += other.roundTripSamples
    }
}

/// Bytes that a link has queued, to be sent or acknowledged.
package struct LinkBacklog: Equatable, Sendable {
    /// Messages of bulk sessions: media and files.
    package var bulk = 0
    /// Messages of sessions that are not bulk.
    package var nonBulk = 0
    /// Frames other than messages and requests, and the overhead of responses.
    package var others = 0
    /// Requests and the bodies of responses, which have a bound of their own.
    package var requests = 0
    /// Frames of sessions of kind attachment.
    package var attachments = 0

    package init(bulk: Int = 0, nonBulk: Int = 0, others: Int = 0, requests: Int = 0, attachments: Int = 0) {
        self.bulk = bulk
        self.nonBulk = nonBulk
        self.others = others
        self.requests = requests
        self.attachments = attachments
    }

    /// The sum without requests and attachments.
    package var byteCount: Int { bulk + nonBulk + others }
}
