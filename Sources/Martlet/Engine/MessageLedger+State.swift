import MartletLink

extension MessageLedger {
    package typealias Progress = MemberMarks.Progress

    /// The state of a message.
    package enum State: Equatable, Sendable {
        case queued
        case sent
        /// The offset is 0 if the relay no longer knows it.
        case accepted(offset: UInt64)
        case failed(SendFailure)
    }
}
