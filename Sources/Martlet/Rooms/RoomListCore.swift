import MartletLink
import MartletTransport
import MartletWire

/// The list of an account's rooms, which the loop writes and iterations read. An iteration that is slow receives the
/// latest state of each changed room once.
///
/// | state | owns | ends |
/// |---|---|---|
/// | unknown | nothing | `listed` |
/// | known | the entries; for each subscriber the rooms that it has not received | `finish` |
/// | over | the same, until the subscribers have read it | |
final class RoomListCore: Waitable {
    enum Next {
        case update(RoomListUpdate)
        case empty
        case over
    }

    private struct Subscriber {
        /// Whether the subscriber receives the whole list next.
        var needsList = true
        var order = Deque<RoomName>()
        var changed: Set<RoomName> = []
        var waiter: Waiter?

        mutating func note(_ room: RoomName) {
            if !needsList, changed.insert(room).inserted { order.append(room) }
        }
    }

    private struct State {
        var rooms: [RoomName: RoomSummary]?
        var subscribers: [UInt64: Subscriber] = [:]
        var nextSubscriber: UInt64 = 0
        var isOver = false

        /// The list in the order of the names' bytes.
        var list: [RoomSummary]? { rooms.map { $0.values.sorted { $0.name < $1.name } } }
    }

    private let state = Guarded(State())

    /// A subscription, which ends when the object is released.
    final class Subscription: Sendable {
        let core: RoomListCore
        let id: UInt64

        init(_ core: RoomListCore) {
            self.core = core
            id = core.subscribe()
        }

        deinit {
            core.unsubscribe(id)
        }
    }

    /// The list; nil if it is not known.
    var list: [RoomSummary]? { state.withLock { $0.list } }

    /// Whether an iteration exists.
    var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    private func subscribe() -> UInt64 {
        state.withLock { state in
            state.nextSubscriber += 1
            state.subscribers[state.nextSubscriber] = Subscriber()
            return state.nextSubscriber
        }
    }

    private func unsubscribe(_ id: UInt64) {
        state.withLock { state in _ = state.subscribers.removeValue(forKey: id) }
    }

    // MARK: Events of the loop

    /// Reports the whole list.
    func listed(_ rooms: [RoomSummary]) {
        change { state in
            state.rooms = Dictionary(rooms.map { ($0.name, $0) }) { _, last in last }
            for id in state.subscribers.keys {
                let waiter = state.subscribers[id]!.waiter
                state.subscribers[id] = Subscriber(waiter: waiter)
            }
        }
    }

    /// Reports a changed room; the summary is nil if the account no longer has a membership record.
    func changed(_ room: RoomName, _ summary: RoomSummary?) {
        change { state in
            state.rooms?[room] = summary
            for id in state.subscribers.keys { state.subscribers[id]!.note(room) }
        }
    }

    /// Ends all iterations, because the client has stopped. Unread changes remain available.
    func finish() {
        change { $0.isOver = true }
    }

    private func change(_ body: (inout State) -> Void) {
        let woken = state.withLock { state -> [Waiter] in
            body(&state)
            return state.subscribers.keys.compactMap { state.subscribers[$0]!.waiter.take() }
        }
        for waiter in woken { waiter.wake() }
    }

    // MARK: Iterations

    func next(for id: UInt64) -> Next {
        state.withLock { state in
            guard state.subscribers[id] != nil else { return .over }
            if let list = state.list, state.subscribers[id]!.needsList {
                state.subscribers[id]!.needsList = false
                return .update(.list(list))
            }
            if let room = state.subscribers[id]!.order.popFirst() {
                state.subscribers[id]!.changed.remove(room)
                return .update((state.rooms?[room]).map { .changed($0) } ?? .removed(room))
            }
            return state.isOver ? .over : .empty
        }
    }

    func add(_ waiter: Waiter, for id: UInt64) -> Bool {
        state.withLock { state in
            guard let subscriber = state.subscribers[id], subscriber.order.isEmpty, subscriber.waiter == nil,
                !state.isOver, !subscriber.needsList || state.rooms == nil
            else { return false }
            state.subscribers[id]!.waiter = waiter
            return true
        }
    }

    func remove(_ waiter: UInt64) -> Waiter? {
        state.withLock { state in
            guard let id = state.subscribers.first(where: { $0.value.waiter?.id == waiter })?.key else { return nil }
            return state.subscribers[id]!.waiter.take()
        }
    }
}
