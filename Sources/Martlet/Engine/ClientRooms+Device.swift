import MartletLink
import MartletWire

/// The replacement of the device ID.
extension ClientRooms {
    /// The replacement of the device ID.
    enum Replacement {
        case none
        /// Messages that were handed over have no answer.
        case awaitingAnswers
        /// The driver stores another ID.
        case requested
    }

    /// Begins to replace the device ID, because the relay knows counters of this device that it has not used: its state
    /// was set back, or another device has a copy of it. No further message is handed over until the messages
    /// on their way have answers, so that none of them is published twice.
    mutating func beginReplacingDevice(now: Instant) {
        guard replacement == .none else { return }
        replacement = .awaitingAnswers
        timers.set(.device, at: now + Self.replacementTimeout)
    }

    /// Requests another device ID if no answer is awaited.
    mutating func continueReplacingDevice(isTimedOut: Bool = false) {
        guard replacement == .awaitingAnswers else { return }
        let awaitsAnswers = rooms.indices.contains { rooms[at: $0].ledger.awaitsAnswers }
        guard isTimedOut || !awaitsAnswers else { return }
        replacement = .requested
        timers.cancel(.device)
        outputs.append(.replaceDevice)
    }

    /// The device has another ID. The pending messages are published under it on another link.
    mutating func replaceDevice() {
        replacement = .none
        timers.cancel(.device)
        for index in rooms.indices { rooms[at: index].ledger.replaceDevice() }
    }
}
