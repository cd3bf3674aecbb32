import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// The state of a room that its application and its loop share. One lock protects it and is held briefly.
///
/// | life | the application can | left by |
/// |---|---|---|
/// | open | send and receive | `stopSending`, `finish` |
/// | stopping | receive; queued messages are still sent | `finish` |
/// | ended | read the messages received before, if the relay closed the room | nothing |
///
/// The application changes the state and posts the room to the loop once; the loop takes all changes together. The loop
/// appends received items in batches and wakes the waiting tasks. Continuations are resumed after the lock is released.
final class RoomCore: Waitable {
    /// The reason for the end of a room.
    enum End: Sendable, Equatable {
        /// The application closed the room.
        case closed
        /// The relay closed the room permanently.
        case closedByRelay(ErrorCode?)
        /// The client was stopped.
        case stopped

        func error(of room: RoomName) -> MartletError {
            switch self {
            case .closed: .roomClosed(nil, room: room)
            case .closedByRelay(let code): .roomClosed(code, room: room)
            case .stopped: .stopped
            }
        }

        /// The failure of messages that are not stored.
        var failure: SendFailure {
            if case .closedByRelay(let code?) = self { .refused(code, reason: nil) } else { .closed }
        }
    }

    enum Life: Sendable, Equatable {
        case open
        case stopping
        case ended(End)
    }

    /// The state that a task waits for.
    enum Key: Sendable {
        case items
        case requests
        /// A change of the message after the given snapshot.
        case message(counter: UInt64, seen: MessageSnapshot)
        /// A change of the state of any message after the given version.
        case messages(version: UInt64)
        /// A change of the view or of the marks after the given version.
        case view(version: UInt64)
    }

    /// The state of a message that an observer has seen.
    struct MessageSnapshot: Sendable {
        let state: OutgoingMessages.State?
        let version: UInt64
        let end: End?
        let stopReason: StopReason?
    }

    struct State: Sendable {
        var messages: OutgoingMessages
        var counters: RoomCounters
        var sends = WaitingSends()
        var letters = ClaimedLetters()
        var files = MessageFiles()
        var inbox = Inbox()
        /// Whether an iteration over the items is active.
        var isIterating = false
        var unacknowledged = Unacknowledged()
        var handled = HandledMark()
        var requests = RequestQueue()
        var changes = ApplicationChanges()
        private(set) var view: RoomView
        /// The number of changes of the view and of the marks.
        private(set) var viewVersion: UInt64 = 0
        var life = Life.open
        var stopReason: StopReason?
        var waiters = RoomWaiters()
        fileprivate var isPosted = false

        var end: End? { if case .ended(let end) = life { end } else { nil } }

        func snapshot(of counter: UInt64) -> MessageSnapshot {
            MessageSnapshot(
                state: messages.state(of: counter), version: messages.version, end: end, stopReason: stopReason)
        }

        /// Changes the view. Returns the tasks that wait for a change.
        mutating func changeView(_ body: (inout RoomView) -> Bool) -> [Waiter] {
            body(&view) ? viewChanged() : []
        }

        /// Reports that the view or the marks have changed. Returns the tasks that wait for that.
        mutating func viewChanged() -> [Waiter] {
            viewVersion += 1
            return waiters.takeViewers()
        }

        mutating func takeChanges() -> ApplicationChanges {
            defer { changes = ApplicationChanges() }
            isPosted = false
            return changes
        }
    }

    let id: RoomID
    let name: RoomName
    let account: AccountName
    private let devices: Guarded<Devices>
    /// The maximum size of a message's content, in bytes.
    let maxContentByteCount: Int
    /// The queue of an outbox for which `send` waits; nil for one that stores a message at once.
    let outbox: OutboxWriter?
    let events = Broadcast<Room.Event>()
    let mailbox: Mailbox
    let state: Guarded<State>
    /// Whether the remaining items of iterations are discarded. A later client receives them again, after the cursor.
    let discardsItems = Atomic(false)

    init(
        id: RoomID, name: RoomName, account: AccountName, device: DeviceID, log: LogID? = nil,
        configuration: Client.Configuration, source: CounterSource, outbox: OutboxWriter?, mailbox: Mailbox
    ) {
        self.id = id
        self.name = name
        self.account = account
        devices = Guarded(Devices(current: device))
        self.outbox = outbox
        self.mailbox = mailbox
        maxContentByteCount = min(configuration.maxContentByteCount, configuration.maxPendingByteCount)
        let messages = OutgoingMessages(
            maxCount: configuration.maxPendingMessages, maxByteCount: configuration.maxPendingByteCount)
        state = Guarded(State(messages: messages, counters: RoomCounters(source), view: RoomView(log: log)))
    }

    /// Changes the state and posts the room to the loop once.
    func change<Answer: Sendable>(
        _ body: (inout State) throws(MartletError) -> Answer
    ) throws(MartletError) -> Answer {
        var isPosted = true
        let answer = try state.withLock { (state) throws(MartletError) -> Answer in
            if let end = state.end { throw end.error(of: name) }
            let answer = try body(&state)
            isPosted = state.isPosted
            state.isPosted = true
            return answer
        }
        if !isPosted { mailbox.post(.changed(self)) }
        return answer
    }

    /// Changes the state like `change`. After the end of the room it has no effect.
    func note(_ body: (inout State) -> Void) {
        try? change { state throws(MartletError) in body(&state) }
    }

    var end: End? { state.withLock { $0.end } }

    // MARK: The device

    /// The device IDs of the messages.
    private struct Devices: Sendable {
        var current: DeviceID
        /// The IDs that the device had before.
        var replaced: Set<DeviceID> = []
        /// The devices of settled messages, where they are not the current device.
        var former: [UInt64: DeviceID] = [:]
    }

    func messageID(_ counter: UInt64) -> MessageID {
        let device = devices.withLock { $0.former[counter] ?? $0.current }
        return MessageID(sender: account, device: device, counter: counter)
    }

    /// Whether the device had another ID since the room was opened.
    func hadDevice(_ device: DeviceID) -> Bool { devices.withLock { $0.replaced.contains(device) } }

    /// Notes the device of a message with an outcome.
    func note(_ id: MessageID) {
        devices.withLock { if id.device != $0.current { $0.former[id.counter] = id.device } }
    }

    /// The messages without an outcome belong to another device from now on (C-103).
    func replaceDevice(by device: DeviceID) {
        let settled = state.withLock { $0.messages.settledCounters }
        let former = devices.withLock { devices in
            for counter in settled where devices.former[counter] == nil { devices.former[counter] = devices.current }
            devices.replaced.insert(devices.current)
            defer { devices.current = device }
            return devices.current
        }
        wake { state in
            state.messages.deviceReplaced()
            return state.waiters.takeObservers { _ in true }
        }
        events.publish(.deviceReplaced(former: former, current: device))
    }

    func messageState(of counter: UInt64) -> OutgoingMessages.State? {
        state.withLock { $0.messages.state(of: counter) }
    }

    /// The number of messages that are neither accepted nor failed.
    var pendingCount: Int { state.withLock { $0.messages.pendingCount } }

    /// The current state of the room, its version, and whether the room has ended.
    var snapshot: (snapshot: Room.Snapshot, version: UInt64, isOver: Bool) {
        state.withLock { (Room.Snapshot($0.view, $0.messages.progress), $0.viewVersion, $0.end != nil) }
    }

    // MARK: Waiting

    func add(_ waiter: Waiter, for key: Key) -> Bool {
        state.withLock { state in
            guard state.end == nil else { return false }
            switch key {
            case .items:
                guard state.inbox.items.isEmpty, state.stopReason == nil || mailbox.isRetrying else { return false }
                state.waiters.append(reader: waiter)
            case .requests:
                guard state.requests.isEmpty else { return false }
                state.waiters.append(requestTaker: waiter)
            case .message(let counter, let seen):
                guard state.messages.version == seen.version, state.stopReason == seen.stopReason else { return false }
                state.waiters.append(observer: waiter, of: counter)
            case .messages(let seen):
                guard state.messages.version == seen else { return false }
                state.waiters.append(observer: waiter, of: nil)
            case .view(let seen):
                guard state.viewVersion == seen else { return false }
                state.waiters.append(viewer: waiter)
            }
            return true
        }
    }

    func remove(_ waiter: UInt64) -> Waiter? {
        state.withLock { $0.waiters.remove(waiter) }
    }

    /// Changes the state, then wakes the tasks that `body` returns.
    func wake(_ body: (inout State) -> [Waiter]) {
        let woken = state.withLock { body(&$0) }
        for waiter in woken { waiter.wake() }
    }
}
