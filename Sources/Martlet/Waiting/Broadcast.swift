import MartletLink
import MartletTransport

/// A channel to any number of subscribers. Each subscriber has a bounded buffer; if it is full, the oldest element is
/// discarded and counted. Without subscribers, elements are discarded.
final class Broadcast<Element: Sendable>: Waitable {
    /// The maximum number of elements in a subscriber's buffer.
    static var maxBufferedElements: Int { 256 }

    enum Next {
        case element(Element)
        /// The number of elements that were discarded before the next one.
        case missed(Int)
        case empty
        case over
    }

    private struct Subscriber {
        var buffer = Deque<Element>()
        var missedCount = 0
        var waiter: Waiter?
    }

    private struct State {
        var subscribers: [UInt64: Subscriber] = [:]
        var nextSubscriber: UInt64 = 0
        var isOver = false
    }

    private let state = Guarded(State())

    /// A subscription, which ends when the object is released.
    final class Subscription: Sendable {
        let broadcast: Broadcast<Element>
        let id: UInt64

        init(_ broadcast: Broadcast<Element>) {
            self.broadcast = broadcast
            id = broadcast.subscribe()
        }

        deinit {
            broadcast.unsubscribe(id)
        }
    }

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

    func publish(_ element: Element) {
        let woken = state.withLock { state -> [Waiter] in
            var woken: [Waiter] = []
            for id in state.subscribers.keys.sorted() {
                if state.subscribers[id]!.buffer.count >= Self.maxBufferedElements {
                    _ = state.subscribers[id]!.buffer.popFirst()
                    state.subscribers[id]!.missedCount += 1
                }
                state.subscribers[id]!.buffer.append(element)
                if let waiter = state.subscribers[id]!.waiter.take() { woken.append(waiter) }
            }
            return woken
        }
        for waiter in woken { waiter.wake() }
    }

    /// Ends the channel. Buffered elements remain available.
    func finish() {
        let woken = state.withLock { state -> [Waiter] in
            state.isOver = true
            return state.subscribers.keys.sorted().compactMap { state.subscribers[$0]!.waiter.take() }
        }
        for waiter in woken { waiter.wake() }
    }

    func next(for id: UInt64) -> Next {
        state.withLock { state in
            guard let missed = state.subscribers[id]?.missedCount else { return .over }
            if missed > 0 {
                state.subscribers[id]!.missedCount = 0
                return .missed(missed)
            }
            if let element = state.subscribers[id]!.buffer.popFirst() { return .element(element) }
            return state.isOver ? .over : .empty
        }
    }

    func add(_ waiter: Waiter, for id: UInt64) -> Bool {
        state.withLock { state in
            guard let subscriber = state.subscribers[id], subscriber.buffer.isEmpty, subscriber.waiter == nil,
                !state.isOver
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
