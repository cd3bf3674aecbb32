/// A violated invariant.
package struct Violation: Sendable, CustomStringConvertible {
    /// The checked invariants.
    package enum Invariant: String, CaseIterable, Sendable {
        /// An accepted message is in the relay's store at that time.
        case acceptedIsDurable = "accepted messages are durable"
        /// The store has each message of a device once, in the order of the counters.
        case storedOnceInOrder = "messages are stored once and in order"
        /// A delivered message is in the store, with the same offset and text.
        case deliveredIsStored = "delivered messages are stored"
        /// The offsets that a device delivers increase, also across its crashes.
        case deliveredOnceInOrder = "messages are delivered once and in order"
        /// No message fails, and gaps contain only messages that the store removed or that exceed the device's limit.
        case noMessageFails = "no message fails or is skipped"
        /// A device that has opened a lost log receives a report, and no other device does.
        case logLossIsReported = "a lost log is reported"
        /// After the last fault all messages are accepted, and delivered or reported as gaps, within
        /// `Simulation.settleTimeout`.
        case everythingArrives = "all messages arrive"
        /// A used resume token resumes no link.
        case tokensResumeOnce = "a token resumes once"
        /// A link that both sides know under the same epoch is resumed.
        case linksAreResumed = "links are resumed"
        /// A replaced connection is closed.
        case oneConnectionPerDevice = "a device has one open connection"
        /// A device starts at most `Ledger.maxAttempts` connection attempts within `Ledger.attemptWindow`.
        case attemptsAreLimited = "connection attempts are limited"
        /// A run has at most `Simulation.maxEventsPerStep` events for each step of its scenario.
        case eventsAreBounded = "events are bounded"
        /// After all messages have arrived, connections stay open and nothing is retransmitted.
        case idleLinksStayIdle = "idle links stay idle"
        /// A connected device with messages to send or receive makes progress within `ProgressMonitor.limit`, and an
        /// unhindered device connects within it.
        case progressIsMade = "progress is made"
        /// At quiescence all credit is released, no timer is set without a cause, and no object is retained; after all
        /// devices have left, no state remains.
        case nothingIsRetained = "no state is left over"
        /// Each request has one outcome in time, is received once, and is answered with its own content.
        case requestsEndOnce = "requests end once"
        /// The messages of a page of history are those of the log, without a gap, from the place that was requested.
        case pagesAreOfTheLog = "pages of history are parts of the log"
        /// A transfer of an attachment ends, the received bytes equal the sent bytes, and the relay has stored all
        /// bytes before a position that it names.
        case attachmentsAreWhole = "attachments are whole"
        /// A receipt does not exceed what the account has taken or read, and publishers receive the receipts for their
        /// last message.
        case receiptsAreCorrect = "receipts are correct"
        /// Typing and presence are reported correctly, and to all members in the absence of faults.
        case presenceIsReported = "presence is reported"
        /// An account that may not publish or enter does not do so after the change, and a change that was answered is
        /// durable.
        case rolesAreEnforced = "roles are enforced"
        /// No correct peer is refused for a fault.
        case correctPeersAreServed = "correct peers are served"
    }

    /// The violated invariant.
    package var invariant: Invariant
    /// The virtual time in milliseconds.
    package var at: UInt64
    /// The observation.
    package var detail: String

    /// A description in one line.
    package var description: String { "at \(at) ms, violated: \(invariant.rawValue): \(detail)" }
}
