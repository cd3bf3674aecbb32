/// Counts of a link since it began.
public struct LinkCounters: Equatable, Sendable {
    /// Frames sent again because they counted as lost or because a connection broke.
    public var retransmissions: UInt64 = 0
    /// Frames received more than once and dropped.
    public var duplicates: UInt64 = 0
    /// Frames written.
    public var framesSent: UInt64 = 0
    /// Frames received whole.
    public var framesReceived: UInt64 = 0
    /// Bytes of frames written, with headers.
    public var bytesSent: UInt64 = 0
    /// Bytes of frames received, with headers.
    public var bytesReceived: UInt64 = 0
    /// Resumes that the peer accepted.
    public var resumes: UInt64 = 0
    /// Frames of unknown type that were skipped.
    public var skipped: UInt64 = 0
    /// Round-trip times measured.
    public var roundTripSamples: UInt64 = 0
}

/// Bytes that a link has queued, to be sent or acknowledged.
struct LinkBacklog: Equatable, Sendable {
    /// Messages of bulk sessions: media and files.
    var bulk = 0
    /// Messages of sessions that are not bulk.
    var nonBulk = 0
    /// Frames other than messages and requests, and the overhead of responses.
    var others = 0
    /// Requests and the bodies of responses, which have a bound of their own.
    var requests = 0
    /// Frames of sessions of kind attachment.
    var attachments = 0

    /// The sum without requests and attachments.
    var byteCount: Int { bulk + nonBulk + others }
}
