import MartletLink
import MartletTransport
import Synchronization

/// The order of calls that wait for each other: a call enters at its first instruction, before it suspends, and begins
/// when all calls that have entered before it have ended. The order is that of the calls, whatever the executors and
/// priorities of their tasks; the waiters of a task have no order (C-107).
///
/// | state of a turn | left by |
/// |---|---|
/// | waiting | the end of the turns before it, to begun; `end` |
/// | begun | `end`, or the release of the turn |
/// | ended | nothing |
///
/// Calls of different keys do not wait for each other. The number of turns is that of the calls in progress.
package final class CallOrder<Key: Hashable & Sendable>: Sendable {
    private struct Line {
        var first: UInt64 = 0
        /// The turns from the first one; nil for those that have ended.
        var turns = Deque<Promise<Void>?>()
    }

    /// The place of a call.
    package final class Turn: Sendable {
        private let order: CallOrder
        private let key: Key
        private let number: UInt64
        private let promise: Promise<Void>
        private let hasEnded = Atomic(false)

        fileprivate init(_ order: CallOrder, _ key: Key, _ number: UInt64, _ promise: Promise<Void>) {
            self.order = order
            self.key = key
            self.number = number
            self.promise = promise
        }

        deinit { end() }

        /// Waits until the calls before this one have ended. It is called once.
        ///
        /// - Throws: `CancellationError`, after which the turn has ended.
        nonisolated(nonsending) package func begin() async throws {
            try await promise.value { [self] in
                if promise.resolve(.failure(CancellationError())) { end() }
            }
        }

        /// Lets the next call begin. Further calls of this method have no effect.
        package func end() {
            if !hasEnded.exchange(true, ordering: .relaxed) { order.end(number, of: key) }
        }
    }

    private let lines = Guarded<[Key: Line]>([:])

    package init() {}

    /// Adds a call behind all others of the key.
    package func enter(_ key: Key) -> Turn {
        let promise = Promise<Void>()
        let (number, isFirst) = lines.withLock { lines -> (UInt64, Bool) in
            var line = lines.removeValue(forKey: key) ?? Line()
            line.turns.append(promise)
            defer { lines[key] = line }
            return (line.first + UInt64(line.turns.count - 1), line.turns.count == 1)
        }
        if isFirst { promise.resolve(.success(())) }
        return Turn(self, key, number, promise)
    }

    private func end(_ number: UInt64, of key: Key) {
        let next = lines.withLock { lines -> Promise<Void>? in
            guard var line = lines.removeValue(forKey: key) else { return nil }
            line.turns[Int(number - line.first)] = nil
            guard number == line.first else {
                lines[key] = line
                return nil
            }
            while let turn = line.turns.first, turn == nil {
                _ = line.turns.popFirst()
                line.first += 1
            }
            guard let next = line.turns.first ?? nil else { return nil }
            lines[key] = line
            return next
        }
        next?.resolve(.success(()))
    }
}
