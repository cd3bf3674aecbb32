extension Client {
    /// Counters and measurements of a client since its start.
    public struct Statistics: Sendable, Equatable {
        /// The number of frames sent.
        public internal(set) var framesSent: UInt64 = 0
        /// The number of complete frames received.
        public internal(set) var framesReceived: UInt64 = 0
        /// The number of bytes of frames sent.
        public internal(set) var bytesSent: UInt64 = 0
        /// The number of bytes of frames received.
        public internal(set) var bytesReceived: UInt64 = 0
        /// The number of frames sent again, after a loss was detected or a connection ended.
        public internal(set) var retransmissions: UInt64 = 0
        /// The number of frames discarded because they had been received before.
        public internal(set) var duplicates: UInt64 = 0
        /// The number of connections established after the first.
        public internal(set) var reconnects: UInt64 = 0
        /// The number of reconnects that resumed the link.
        public internal(set) var resumes: UInt64 = 0
        /// The median of the round-trip times.
        public internal(set) var roundTripP50: Duration?
        /// The 99th percentile of the round-trip times.
        public internal(set) var roundTripP99: Duration?
        /// The number of unaccepted messages.
        public internal(set) var pendingMessages = 0
        /// The number of errors that the outbox threw while it stored outcomes, cursors or marks. They are stored again
        /// with the next change. Such an error duplicates no message, because the relay accepts each message once.
        public internal(set) var outboxFailures: UInt64 = 0
    }
}
