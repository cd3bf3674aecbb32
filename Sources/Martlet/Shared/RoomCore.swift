import MartletProtocol
import MartletTransport
import MartletWire
import Synchronization

/// A room between its application and its loop: all that both sides touch, under one lock that is held for moments.
///
/// The application's side appends and marks the room as changed, which posts it once; the loop takes all changes at
/// once. What the loop has for the application it appends in batches and wakes who waits.
final class RoomCore: Waitable {
    /// How a room ends.
    enum End: Sendable, Equatable {
        /// The application closed it.
        case closed
        /// The relay closed it for good.
        case closedByRelay(ErrorCode?)
        /// The client was stopped.
        case stopped

        var error: MartletError {
            switch self {
            case .closed: .roomClosed(nil)
            case .closedByRelay(let code): .roomClosed(code)
            case .stopped: .stopped
            }
        }
    }

    /// What there is to wait for.
    enum Key: Sendable {
        case items
        case requests
        /// News of the message, beyond what a version of the ledger told.
        case message(counter: UInt64, version: UInt64)
    }

    struct State: Sendable {
        var outgoing: OutgoingQueue
        var ledger = SendLedger()
        var inbox = Inbox()
        var requests = RequestQueue()
        var news = RoomNews()
        var isPosted = false
        /// The client sends what it has and takes no more.
        var isStopping = false
        var end: End?
        var gaveUp: StopReason?
        var members: Set<AccountName> = []
        var head: UInt64 = 0
        var first: UInt64 = 0
        var log: LogID?
        /// The message that an iteration had in hand when it ended.
        var inHand: RoomCursor?
        var readers: [Waiter] = []
        var requestTakers: [Waiter] = []
        var observers: [(counter: UInt64, waiter: Waiter)] = []
    }

    /// Members that are remembered, at the most.
    static let maxMembers = 4096

    let id: RoomID
    let name: RoomName
    let account: AccountName
    let device: DeviceID
    /// The most bytes of content in one message.
    let maxContentByteCount: Int
    /// Whether a message is queued only when the outbox says so.
    let waitsForOutbox: Bool
    let events = Broadcast<Room.Event>()
    let mailbox: Mailbox
    let state: Guarded<State>
    /// Set when what was received and not handed out is of no use here any more: it comes again from the cursor.
    let isOverHere = Atomic(false)
    let handled = HandledMark()

    init(
        id: RoomID, name: RoomName, account: AccountName, device: DeviceID, configuration: Client.Configuration,
        source: CounterSource, waitsForOutbox: Bool, mailbox: Mailbox
    ) {
        self.id = id
        self.name = name
        self.account = account
        self.device = device
        self.waitsForOutbox = waitsForOutbox
        self.mailbox = mailbox
        maxContentByteCount = min(configuration.maxContentByteCount, configuration.maxPendingByteCount)
        state = Guarded(
            State(
                outgoing: OutgoingQueue(
                    maxPendingMessages: configuration.maxPendingMessages,
                    maxPendingByteCount: configuration.maxPendingByteCount, source: source)))
    }

    /// Changes what the loop has to look at, and tells it once.
    func change<Answer: Sendable>(
        _ body: (inout State) throws(MartletError) -> Answer
    ) throws(MartletError) -> Answer {
        var isPosted = true
        let answer = try state.withLock { (state) throws(MartletError) -> Answer in
            if let end = state.end { throw end.error }
            let answer = try body(&state)
            isPosted = state.isPosted
            state.isPosted = true
            return answer
        }
        if !isPosted { mailbox.post(.changed(self)) }
        return answer
    }

    /// The same for what is of no interest once the room is over.
    func note(_ body: (inout State) -> Void) {
        try? change { state throws(MartletError) in body(&state) }
    }

    var end: End? { state.withLock { $0.end } }

    // MARK: Waiting

    func add(_ waiter: Waiter, for key: Key) -> Bool {
        state.withLock { state in
            guard state.end == nil else { return false }
            switch key {
            case .items:
                guard state.inbox.items.isEmpty, state.gaveUp == nil || mailbox.isRetrying else { return false }
                state.readers.append(waiter)
            case .requests:
                guard state.requests.isEmpty else { return false }
                state.requestTakers.append(waiter)
            case .message(let counter, let version):
                guard state.ledger.version == version else { return false }
                state.observers.append((counter, waiter))
            }
            return true
        }
    }

    func remove(_ waiter: UInt64) -> Waiter? {
        state.withLock { state in
            if let index = state.readers.firstIndex(where: { $0.id == waiter }) {
                return state.readers.remove(at: index)
            }
            if let index = state.requestTakers.firstIndex(where: { $0.id == waiter }) {
                return state.requestTakers.remove(at: index)
            }
            return state.observers.firstIndex { $0.waiter.id == waiter }.map { state.observers.remove(at: $0).waiter }
        }
    }
}

extension RoomCore.State {
    mutating func takeReaders() -> [Waiter] {
        defer { readers = [] }
        return readers
    }

    mutating func takeRequestTakers() -> [Waiter] {
        defer { requestTakers = [] }
        return requestTakers
    }

    /// Those who wait for news of messages of which `isNews` says that there is some.
    mutating func takeObservers(where isNews: (UInt64) -> Bool) -> [Waiter] {
        guard !observers.isEmpty else { return [] }
        var woken: [Waiter] = []
        observers.removeAll { observer in
            guard isNews(observer.counter) else { return false }
            woken.append(observer.waiter)
            return true
        }
        return woken
    }
}
