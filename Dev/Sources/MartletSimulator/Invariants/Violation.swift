/// A violated invariant of a run of ``Simulation`` or ``ClientLives``.
package struct Violation: Sendable, CustomStringConvertible {
    /// The checked invariants.
    package enum Invariant: String, CaseIterable, Sendable {
        // MARK: Messages

        /// An accepted message is in the relay's store at that time, at its offset.
        case acceptedIsDurable = "accepted messages are durable"
        /// A log has each message of a device once, in the order of the counters and of the calls. A message that
        /// was accepted, or that the public API has queued, is in the log, or is a dead letter with a reason. The
        /// replies of an acknowledgement are stored once, if and only if the delivery was acknowledged.
        case storedOnceInOrder = "messages are stored once and in order"
        /// A delivered message is in the store, with the same offset and text.
        case deliveredIsStored = "delivered messages are stored"
        /// The offsets that a device delivers increase, also across its crashes. A message that was acknowledged, or
        /// handled before a stop, is not delivered again.
        case deliveredOnceInOrder = "messages are delivered once and in order"
        /// No message fails, and gaps contain only messages that the store removed or that exceed the device's limit.
        /// A message that the application has not handled is delivered; the end of a loop or client handles nothing.
        case noMessageFails = "no message fails or is skipped"
        /// A message that was refused or cancelled, or whose call has thrown, is in no outbox, timeline or log.
        case refusedLeavesNoTrace = "a refused message leaves no trace"
        /// A device that has opened a lost or replaced log receives a report, and no other device does.
        case logLossIsReported = "a lost log is reported"
        /// After the last fault all messages have an outcome, and are delivered or reported as gaps, within
        /// `Simulation.settleTimeout` or `ClientLives.settleTimeout`.
        case everythingArrives = "all messages arrive"

        // MARK: Links

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
        /// At quiescence all credit is released, no timer is set without a cause, no object is retained, and no outbox
        /// has a message without an outcome; after all devices have left, no state remains.
        case nothingIsRetained = "no state is left over"
        /// The flight recording of a client leads to the state and the actions that it had.
        case recordingsReplay = "recordings replay to the same state"
        /// No correct peer is refused for a fault.
        case correctPeersAreServed = "correct peers are served"

        // MARK: Requests, members and history

        /// Each request has one outcome in time, is received once, and is answered with its own content.
        case requestsEndOnce = "requests end once"
        /// The messages of a page of history are those of the log, without a gap, from the place that was requested.
        case pagesAreOfTheLog = "pages of history are parts of the log"
        /// A transfer of an attachment ends, the received bytes equal the sent bytes, and the relay has stored all
        /// bytes before a position that it names.
        case attachmentsAreWhole = "attachments are whole"
        /// A receipt does not exceed what the account has taken or read, and publishers receive the receipts for their
        /// last message. After the last fault, all devices of an account show the same marks.
        case receiptsAreCorrect = "receipts are correct"
        /// Typing and presence are reported correctly, and to all members in the absence of faults.
        case presenceIsReported = "presence is reported"
        /// An account that may not publish or enter does not do so after the change, and a change that was answered is
        /// durable.
        case rolesAreEnforced = "roles are enforced"

        // MARK: The public API

        /// Each call ends: at the latest when its client or room ends, and calls with a limit within it.
        case everyCallEnds = "every call ends"
        /// A call throws only the errors that its documentation lists.
        case errorsAreDocumented = "errors are documented"
        /// After the last fault, snapshots have the last offset of the log, and the members that are in the room.
        case snapshotsAreCurrent = "snapshots are current"
        /// After the last fault, timelines have the messages, changes, unread counts and rooms of log, outbox and list.
        case timelinesAgree = "timelines agree with log and outbox"
        /// After the last fault, lists of rooms have the state of each membership record that the answers to its
        /// changes permit, the last message of the log, and the number of messages after the read mark.
        case listsAreCurrent = "lists of rooms are current"
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
