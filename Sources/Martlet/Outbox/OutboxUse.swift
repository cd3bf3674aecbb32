import MartletLink
import MartletTransport

/// The use of an outbox object by one client of this process. Two clients at a time would give the same counters to
/// different messages, and the relay would discard one of them as a repetition.
///
/// | state of an object | left by |
/// |---|---|
/// | unused | `begin`, to used |
/// | used: `begin` fails | `willEnd`, to ending |
/// | ending: `begin` waits | `end`, to unused, or to used by the client that waits first |
///
/// An outbox that is a value has no identity, and is not checked.
final class OutboxUse: Sendable {
    private struct Use {
        var isEnding = false
        /// The clients that wait for the end, the first one first.
        var waiting: [Promise<OutboxUse>] = []
    }

    private static let uses = Guarded<[ObjectIdentifier: Use]>([:])
    private static var inUse: MartletError { .outboxFailed("another client uses the outbox") }

    private let id: ObjectIdentifier?
    private let hasEnded = Guarded(false)

    private init(_ id: ObjectIdentifier?) {
        self.id = id
    }

    deinit { end() }

    /// Begins to use an outbox. Waits for an earlier client that is ending.
    ///
    /// - Throws: `outboxFailed` if another client uses the outbox; `CancellationError`.
    nonisolated(nonsending) static func begin(_ outbox: any Outbox) async throws -> OutboxUse {
        guard type(of: outbox) is AnyClass else { return OutboxUse(nil) }
        let id = ObjectIdentifier(outbox as AnyObject)
        let promise = Promise<OutboxUse>()
        let isFree = try uses.withLock { (uses) throws(MartletError) -> Bool in
            guard let use = uses[id] else {
                uses[id] = Use()
                return true
            }
            guard use.isEnding else { throw inUse }
            uses[id]?.waiting.append(promise)
            return false
        }
        if isFree { return OutboxUse(id) }
        return try await promise.value { cancel(promise, id) }
    }

    private static func cancel(_ promise: Promise<OutboxUse>, _ id: ObjectIdentifier) {
        let isWaiting = uses.withLock { uses in
            guard let index = uses[id]?.waiting.firstIndex(where: { $0 === promise }) else { return false }
            uses[id]?.waiting.remove(at: index)
            return true
        }
        if isWaiting { promise.resolve(.failure(CancellationError())) }
    }

    /// The number of clients that wait for an outbox.
    static func waitingCount(for outbox: any Outbox) -> Int {
        uses.withLock { $0[ObjectIdentifier(outbox as AnyObject)]?.waiting.count ?? 0 }
    }

    /// The client is ending.
    func willEnd() {
        guard let id, !hasEnded.withLock({ $0 }) else { return }
        OutboxUse.uses.withLock { $0[id]?.isEnding = true }
    }

    /// The client has closed the outbox. The next client uses it; other waiting clients fail.
    func end() {
        guard let id,
            !hasEnded.withLock({ hasEnded in
                defer { hasEnded = true }
                return hasEnded
            })
        else { return }
        let waiting = OutboxUse.uses.withLock { uses in
            let waiting = uses[id]?.waiting ?? []
            uses[id] = waiting.isEmpty ? nil : Use()
            return waiting
        }
        waiting.first?.resolve(.success(OutboxUse(id)))
        for promise in waiting.dropFirst() { promise.resolve(.failure(OutboxUse.inUse)) }
    }
}
