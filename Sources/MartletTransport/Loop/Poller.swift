import CMartletSystem

/// The directions in which a descriptor is ready, or the interest in them.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// Both directions are closed, or an error is pending. Only epoll reports it, without registered interest. Dispatch
    /// reports such a descriptor as readable and writable.
    static let hungUp = Readiness(rawValue: 4)
}

/// An object with a descriptor, notified on the loop when the descriptor is ready.
protocol PollSource: AnyObject {
    func pollReady(_ readiness: Readiness)
    /// The loop is shutting down. The source must remove itself.
    func loopWillStop()
}

/// The identifier of a registration. A key is not reused after its removal.
struct PollKey {
    var index: Int32
    var generation: UInt32
}

/// Waits for the readiness of descriptors, level-triggered.
///
/// With level-triggered readiness a connection that has used its share of a turn is reported again in the next, so
/// there is no list of unfinished reads. A pause is a change of interest, and Dispatch sources behave the same.
/// Interest in writing exists only after the kernel refused bytes, so a connection without backlog costs only its reads
/// and writes.
///
/// All methods but `wake` must be called on the loop.
protocol Poller: AnyObject, Sendable {
    func start(_ loop: EventLoop) throws(TransportError)
    /// Starts a turn of the loop soon. May be called on any thread.
    func wake()
    func add(_ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness) throws(TransportError)
        -> PollKey
    func setInterest(_ interest: Readiness, of key: PollKey)
    /// Removes a source, which is not called afterwards. Its last owner closes the descriptor, which may be the poller
    /// a little later.
    func remove(_ key: PollKey)
    var sources: [any PollSource] { get }
    /// Whether no source is registered and the poller retains no descriptor.
    var isIdle: Bool { get }
}

/// Registered elements by index and generation. A late event for an element that was removed in the same turn finds
/// none.
struct PollSlots<Element> {
    private struct Slot {
        var element: Element?
        var generation: UInt32 = 0
    }

    private var slots: [Slot] = []
    private var free: [Int32] = []

    var count: Int { slots.count - free.count }
    var elements: [Element] { slots.compactMap(\.element) }

    mutating func insert(_ make: (PollKey) -> Element) -> PollKey {
        if free.isEmpty {
            free.append(Int32(slots.count))
            slots.append(Slot())
        }
        let index = free.removeLast()
        let key = PollKey(index: index, generation: slots[Int(index)].generation)
        slots[Int(index)].element = make(key)
        return key
    }

    subscript(key: PollKey) -> Element? {
        holds(key) ? slots[Int(key.index)].element : nil
    }

    mutating func remove(_ key: PollKey) -> Element? {
        guard holds(key) else { return nil }
        slots[Int(key.index)].generation &+= 1
        free.append(key.index)
        return slots[Int(key.index)].element.take()
    }

    private func holds(_ key: PollKey) -> Bool {
        Int(key.index) < slots.count && slots[Int(key.index)].generation == key.generation
    }
}
