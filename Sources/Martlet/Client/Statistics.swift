extension Client {
    /// What a client has done since it was started.
    public struct Statistics: Sendable, Equatable {
        /// Frames written.
        public internal(set) var framesSent: UInt64 = 0
        /// Frames received whole.
        public internal(set) var framesReceived: UInt64 = 0
        /// Bytes of frames written.
        public internal(set) var bytesSent: UInt64 = 0
        /// Bytes of frames received.
        public internal(set) var bytesReceived: UInt64 = 0
        /// Frames sent again because they were taken for lost or because a connection broke.
        public internal(set) var retransmissions: UInt64 = 0
        /// Frames received more than once and dropped.
        public internal(set) var duplicates: UInt64 = 0
        /// Connections established after the first.
        public internal(set) var reconnects: UInt64 = 0
        /// Of those, how many resumed the link.
        public internal(set) var resumes: UInt64 = 0
        /// The median of the round-trip times.
        public internal(set) var roundTripP50: Duration?
        /// The round-trip time that 99 of 100 kept.
        public internal(set) var roundTripP99: Duration?
        /// Messages that wait to be accepted.
        public internal(set) var pendingMessages = 0
        /// Times that the outbox failed to forget a message or to save a cursor; the relay takes a message once all the
        /// same.
        public internal(set) var outboxFailures: UInt64 = 0
    }
}
