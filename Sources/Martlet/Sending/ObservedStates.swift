import MartletLink
import MartletWire

/// The states of one message that an observer has received. The observer receives each state once.
struct ObservedStates: Sendable {
    private var state: OutgoingMessages.State?
    private var marks: [AccountName: Receipt.Mark] = [:]

    /// The next state that the observer has not received; nil if there is none.
    ///
    /// States that the message has left are omitted, and *delivered* of an account that has read the message.
    mutating func next(_ counter: UInt64, in messages: OutgoingMessages) -> MessageHandle.State? {
        guard let state = messages.state(of: counter) else { return nil }
        if state != self.state {
            // The replacement of a log sets the offset to 0. That is not a new state.
            if case (.accepted, .accepted?) = (state, self.state) { return nil }
            self.state = state
            switch state {
            case .queued: return .queued
            case .sent: return .sent
            case .accepted(let offset): return .accepted(offset: offset)
            case .failed(let failure): return .failed(failure)
            }
        }
        guard case .accepted(let offset) = state, offset > 0 else { return nil }
        for member in messages.progress {
            if member.read >= offset, marks[member.account] != .read {
                marks[member.account] = .read
                return .read(by: member.account)
            }
            if member.delivered >= offset, marks[member.account] == nil {
                marks[member.account] = .delivered
                return .delivered(to: member.account)
            }
        }
        return nil
    }

    /// The most advanced state that a message has reached.
    static func furthest(_ counter: UInt64, in messages: OutgoingMessages) -> MessageHandle.State? {
        var observed = ObservedStates()
        var furthest = observed.next(counter, in: messages)
        while let further = observed.next(counter, in: messages) {
            if case .read = further { return further }
            furthest = further
        }
        return furthest
    }
}
