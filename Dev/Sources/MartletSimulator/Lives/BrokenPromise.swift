/// A promise of the public API that was broken in a run of ``ClientLives``.
package struct BrokenPromise: Sendable, CustomStringConvertible {
    /// The checked promises.
    package enum Promise: String, CaseIterable, Sendable {
        /// Each call ends: at the latest when its client or room ends, and calls with a limit within it.
        case everyCallEnds = "every call ends"
        /// The offset of an accepted message is the place of the message in the relay's store.
        case acceptedIsStored = "accepted messages are stored"
        /// A message that `send` has queued is stored once, or is a dead letter with a reason.
        case queuedIsStoredOnce = "queued messages are stored once"
        /// A call of `send` that throws leaves nothing in outbox, timeline and log.
        case thrownLeavesNoTrace = "a call that throws leaves no trace"
        /// The messages of a device in a room are stored in the order of the calls of `send`.
        case sentInOrder = "messages are stored in the order of the calls"
        /// A message that was acknowledged, or handled before a stop, is not shown again, and messages are shown in the
        /// order of their offsets.
        case shownOnceInOrder = "messages are shown in order, and not after they were acknowledged"
        /// A message that was not acknowledged, or handled, is shown; leaving the loop and the end of the client
        /// acknowledge nothing.
        case nothingIsSkipped = "no message is skipped"
        /// The replies of an acknowledgement are stored once, if and only if the delivery was acknowledged.
        case repliesAreStoredOnce = "replies are stored once"
        /// The messages of earlier clients have an outcome after the last fault, and all messages are shown.
        case everythingSettles = "everything settles"
        /// After the last fault, snapshots have the last offset of the log, and the members that are in the room.
        case snapshotsAreCurrent = "snapshots are current"
        /// After the last fault, no outbox has a message without an outcome.
        case outboxesAreEmpty = "outboxes are empty"
        /// After the last fault, all devices of an account show the same marks, which are those of the other accounts.
        case marksAgree = "marks agree on all devices"
        /// After the last fault, timelines have the messages, changes, unread counts and rooms of log, outbox and list.
        case timelinesAgree = "timelines agree with log and outbox"
        /// After the last fault, lists of rooms have the state of each membership record that the answers to its
        /// changes permit, the last message of the log, and the number of messages after the read mark.
        case listsAreCurrent = "lists of rooms are current"
        /// A page of history is a part of the log.
        case pagesAreOfTheLog = "pages of history are parts of the log"
        /// A request is answered with its own content, or fails with a reason.
        case requestsAreAnswered = "requests are answered"
        /// A call throws only the errors that its documentation lists.
        case errorsAreDocumented = "errors are documented"
    }

    /// The broken promise.
    package var promise: Promise
    /// The virtual time in milliseconds.
    package var at: Int64
    /// The observation.
    package var detail: String

    /// A description in one line.
    package var description: String { "at \(at) ms, broken: \(promise.rawValue): \(detail)" }
}
