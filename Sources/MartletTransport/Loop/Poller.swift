import CMartletSystem

/// What a descriptor is ready for, and what of it somebody wants to know.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// Both directions are over, or there is an error to be read. Told without being asked for, and only by epoll;
    /// Dispatch tells it as readable and writable.
    static let hungUp = Readiness(rawValue: 4)
}

/// Something with a descriptor, told on the loop when that is ready.
protocol PollSource: AnyObject {
    func pollReady(_ readiness: Readiness)
    /// The loop is being shut down: remove yourself from it.
    func loopWillStop()
}

/// Names one registration; never valid again after its removal.
struct PollKey {
    var index: Int32
    var generation: UInt32
}

/// Waits for descriptors. Level-triggered: what was not read is told again.
///
/// Level-triggered because a connection that has had its share of a turn is then simply told of again, no list of
/// unfinished reads is kept, a pause is a change of interest, and Dispatch sources behave the same. Interest in writing
/// is there only after the kernel refused bytes, so a connection that flows costs no call besides its reads and writes.
///
/// All methods but `wake` on the loop.
protocol Poller: AnyObject, Sendable {
    func start(_ loop: EventLoop) throws(TransportError)
    /// Makes the loop take a turn soon; from any thread.
    func wake()
    func add(_ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness) throws(TransportError)
        -> PollKey
    func setInterest(_ interest: Readiness, of key: PollKey)
    /// No call reaches the source after this. The descriptor is closed when its last owner has let it go,
    /// which may be the poller, a little later.
    func remove(_ key: PollKey)
    var sources: [any PollSource] { get }
    /// Nothing is registered and every descriptor has been let go.
    var isIdle: Bool { get }
}

/// The registered sources, found by index and generation: an event that is late, for a source
/// that was removed in the same turn, finds nobody.
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
