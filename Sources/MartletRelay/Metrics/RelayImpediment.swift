/// What prevents a relay from serving its clients fully.
public enum RelayImpediment: String, Sendable, CaseIterable {
    /// The relay does not run.
    case notRunning
    /// The relay has been drained.
    case draining
    /// The last append of the store has failed. Messages are refused with `storeUnavailable` meanwhile.
    case storeFailing
    /// The disk has no space for messages.
    case diskFull
    /// The memory budget is exhausted. New connections and rooms are refused.
    case memoryFull
}
