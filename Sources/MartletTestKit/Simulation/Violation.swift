/// A promise that a run broke.
public struct Violation: Sendable, CustomStringConvertible {
    /// The promises that are watched.
    public enum Promise: String, CaseIterable, Sendable {
        /// What was accepted is in the relay's store at that moment.
        case acceptedIsDurable = "what is accepted is durable"
        /// The store has a message of a device once, and a device's messages in the order in which it sent them.
        case storedOnceInOrder = "stored once and in order"
        /// What a device shows is in the store, under that offset, with that text.
        case shownIsStored = "what is shown is what is stored"
        /// Offsets that a device shows grow, also across its crashes.
        case shownOnceInOrder = "shown once and in order"
        /// No message fails, and no offsets are skipped but those that the store has let go of.
        case nothingIsGivenUp = "nothing is given up"
        /// A device that has seen a log which the store has lost is told so, and no other device is.
        case lossIsTold = "a lost log is told"
        /// When the trouble is over, everything is accepted, and shown or told as missing, in `Simulation.patience`.
        case everythingArrives = "everything arrives in the end"
        /// A resume token that has been used resumes nothing.
        case tokensWorkOnce = "a token works once"
        /// A link that both sides know, under the same epoch, is resumed and not begun anew.
        case linksAreResumed = "links are resumed"
        /// A connection that another has replaced is ended.
        case onlyOneSpeaks = "only one connection speaks for a device"
        /// Devices wait between attempts to connect: `Ledger.maxDials` in `Ledger.dialWindow` at the most.
        case attemptsAreSpaced = "attempts are spaced"
        /// A run needs no more events than `Simulation.maxStepsPerDeed` for each deed of its story.
        case nothingRunsWild = "nothing runs wild"
        /// When everything has arrived, a stream that nothing disturbs stays, and nothing is sent twice on it.
        case calmIsKept = "calm is kept"
        /// A device that is connected and may send, and has something to send or to get, gets on within
        /// `ProgressWatch.limit`; one that could be connected is.
        case progressIsMade = "progress is made"
        /// When all is done, everything lent was given back, no timer is set without a cause, and nothing is held for
        /// nobody; when all have left, nothing is left of them.
        case nothingIsLeftOver = "nothing is left over"
        /// Each request has one outcome, in time; who is asked is asked once, and the answer is to what was asked.
        case requestsEndOnce = "requests end once"
        /// A receipt says what is so, and authors get those of what they wrote last.
        case receiptsAreTrue = "receipts are true"
        /// Who types, comes and goes is said of them alone, and to all when nothing is wrong.
        case presenceIsTold = "presence is told"
        /// No honest peer is refused for a fault, whatever the weather.
        case honestPeersAreServed = "honest peers are served"
    }

    /// What was promised.
    public var promise: Promise
    /// The virtual time in milliseconds.
    public var at: UInt64
    /// What was seen instead.
    public var detail: String

    /// One line.
    public var description: String { "at \(at) ms, not \(promise.rawValue): \(detail)" }
}
