/// The tasks that wait for a change of a room. Each is resumed once, by the caller that removes it.
struct RoomWaiters: Sendable {
    private(set) var readers: [Waiter] = []
    private(set) var requestTakers: [Waiter] = []
    private(set) var viewers: [Waiter] = []
    /// The observers of messages. A nil counter marks an observer of all messages.
    private(set) var observers: [(counter: UInt64?, waiter: Waiter)] = []

    mutating func append(reader waiter: Waiter) {
        readers.append(waiter)
    }

    mutating func append(requestTaker waiter: Waiter) {
        requestTakers.append(waiter)
    }

    mutating func append(viewer waiter: Waiter) {
        viewers.append(waiter)
    }

    mutating func append(observer waiter: Waiter, of counter: UInt64?) {
        observers.append((counter, waiter))
    }

    mutating func takeReaders() -> [Waiter] {
        defer { readers = [] }
        return readers
    }

    mutating func takeRequestTakers() -> [Waiter] {
        defer { requestTakers = [] }
        return requestTakers
    }

    mutating func takeViewers() -> [Waiter] {
        defer { viewers = [] }
        return viewers
    }

    /// Removes the observers of changed messages.
    mutating func takeObservers(where hasChanged: (UInt64) -> Bool) -> [Waiter] {
        guard !observers.isEmpty else { return [] }
        var taken: [Waiter] = []
        observers.removeAll { observer in
            guard observer.counter.map(hasChanged) ?? true else { return false }
            taken.append(observer.waiter)
            return true
        }
        return taken
    }

    mutating func takeAll() -> [Waiter] {
        takeReaders() + takeRequestTakers() + takeViewers() + takeObservers { _ in true }
    }

    mutating func remove(_ id: UInt64) -> Waiter? {
        if let index = readers.firstIndex(where: { $0.id == id }) { return readers.remove(at: index) }
        if let index = requestTakers.firstIndex(where: { $0.id == id }) { return requestTakers.remove(at: index) }
        if let index = viewers.firstIndex(where: { $0.id == id }) { return viewers.remove(at: index) }
        return observers.firstIndex { $0.waiter.id == id }.map { observers.remove(at: $0).waiter }
    }
}
