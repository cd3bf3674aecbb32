package import MartletMetrics
import MartletWire

/// The links of one loop: their indexes, timers and suspensions, and those that have changed in this turn.
///
/// | state of a link | owns | ends |
/// |---|---|---|
/// | connected | a timer for acknowledgements and idle memory | `suspend`; `remove` |
/// | suspended | an entry in the order of suspensions | `resume`; `remove`, at the end of the resume lifetime (R-30) |
///
/// All suspensions have the same lifetime, so they are kept in the order of their begin and none has a timer. An
/// outdated suspension is removed when it is first.
@usableFromInline
package struct LinkTable: ~Copyable {
    private struct Suspension: Sendable {
        var link: LinkKey
        var since: Instant
    }

    private let loop: UInt8
    @usableFromInline var links = SlotTable<ServerLink>()
    private var slotOfDevice = SlotIndex()
    private var slotOfID = SlotIndex()
    private var suspensions = Deque<Suspension>()
    package private(set) var suspendedCount = 0
    private var timers = SlotTimers()
    private var generation: UInt32 = 0
    private var lastID: UInt64
    /// The counts of links that have ended.
    private var ended = LinkCounters()
    @usableFromInline var dirty = DirtyLinks()

    /// - Parameter firstID: The number before the first link's ID.
    package init(loop: UInt8, firstID: UInt64) {
        self.loop = loop
        lastID = firstID
    }

    package var count: Int { links.count }
    package var slots: Range<Int> { links.slots }
    /// Suspensions, outdated ones included.
    var suspensionCount: Int { suspensions.count }
    /// Links, their timers and suspensions, changed ones, and the entries of the indexes.
    var heldCount: Int {
        links.count + timers.count + suspensions.count + dirty.count + slotOfDevice.count + slotOfID.count
    }

    @inlinable @inline(__always)
    package func isLive(_ slot: Int) -> Bool { links.isLive(slot) }

    @inlinable
    package subscript(slot: Int) -> ServerLink {
        @inline(__always) unsafeAddress { unsafe links.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe links.mutableAddress(slot) }
    }

    /// The slot of a key; nil when its link has ended.
    @inlinable @inline(__always)
    package func slot(_ key: LinkKey) -> Int? {
        let slot = Int(key.slot)
        return links.isLive(slot) && links[slot].key == key ? slot : nil
    }

    /// The link of a device, of which there is at most one (C-2).
    package func slot(of who: DeviceKey) -> Int? { slotOfDevice.find(who) { links[$0].who == who } }

    func slot(of id: LinkID) -> Int? { slotOfID.find(id) { links[$0].id == id } }

    // MARK: Begin and end

    /// Adds a link of a device that has none.
    mutating func insert(_ link: consuming Link, of who: DeviceKey, token: TokenDigest) -> Int {
        generation &+= 1
        lastID &+= 1
        let key = LinkKey(slot: Int32(links.nextSlot), generation: generation, loop: loop)
        let id = LinkID(rawValue: lastID)
        let slot = links.insert(ServerLink(key: key, id: id, who: who, link: link, token: token))
        slotOfDevice.insert(who, slot)
        slotOfID.insert(id, slot)
        return slot
    }

    /// Removes a link.
    mutating func remove(_ slot: Int) {
        resume(slot)
        let link = links.remove(slot)
        timers.cancel(slot)
        slotOfDevice.remove(link.who, slot)
        slotOfID.remove(link.id, slot)
        ended += link.link.counters
    }

    /// The counts of all links since the start, ended ones included.
    package var counters: LinkCounters {
        var sum = ended
        for slot in links.slots where links.isLive(slot) { sum += links[slot].link.counters }
        return sum
    }

    /// The smoothed round-trip times of the links that have a connection and a sample.
    package var roundTrips: Histogram {
        var histogram = Histogram()
        for slot in links.slots where links.isLive(slot) && links[slot].connection != nil {
            if let smoothed = links[slot].link.rtt.smoothed { histogram.record(smoothed) }
        }
        return histogram
    }

    // MARK: Suspensions

    /// A link has lost its connection.
    mutating func suspend(_ slot: Int, now: Instant) {
        links[slot].suspendedAt = now
        suspendedCount += 1
        suspensions.append(Suspension(link: links[slot].key, since: now))
    }

    /// A link has a connection again, or ends.
    mutating func resume(_ slot: Int) {
        guard links[slot].suspendedAt != nil else { return }
        links[slot].suspendedAt = nil
        suspendedCount -= 1
        while let first = suspensions.first, currentSlot(of: first) == nil { _ = suspensions.popFirst() }
    }

    /// The instant at which the longest suspension ends.
    func suspensionDeadline(lifetime: Duration) -> Instant? { suspensions.first.map { $0.since + lifetime } }

    /// The next link whose suspension has lasted for the lifetime.
    mutating func popExpiredSuspension(lifetime: Duration, now: Instant) -> Int? {
        while let first = suspensions.first, first.since + lifetime <= now {
            _ = suspensions.popFirst()
            if let slot = currentSlot(of: first) { return slot }
        }
        return nil
    }

    /// Removes outdated suspensions when there are many.
    mutating func trimSuspensions() {
        guard suspensions.count > Deque<Suspension>.maxCount(valid: suspendedCount) else { return }
        for _ in suspensions.indices {
            if let first = suspensions.popFirst(), currentSlot(of: first) != nil { suspensions.append(first) }
        }
    }

    /// The longest suspended link.
    package var longestSuspended: Int? { suspensions.first.flatMap { currentSlot(of: $0) } }

    private func currentSlot(of suspension: Suspension) -> Int? {
        guard let slot = slot(suspension.link), links[slot].suspendedAt == suspension.since else { return nil }
        return slot
    }

    // MARK: Changed links

    /// A link has changed: it is asked for output before the end of the turn.
    @inlinable @inline(__always)
    package mutating func markDirty(_ slot: Int) {
        guard links.isLive(slot), !links[slot].isDirty else { return }
        links[slot].isDirty = true
        dirty.append(slot)
    }

    /// Whether links have changed.
    package var hasDirty: Bool { !dirty.isEmpty }

    /// Whether the changed links are enough for a group.
    @inlinable
    package var isGroupFull: Bool { dirty.isGroupFull }

    /// Takes the changed links, in the order of their changes.
    mutating func takeDirty() -> [Int] { dirty.takeAll() }

    /// Returns the memory of the taken links.
    mutating func recycle(_ taken: consuming [Int]) { dirty.recycle(taken) }

    /// A taken link is no longer changed.
    @inlinable @inline(__always)
    package mutating func clearDirty(_ slot: Int) { links[slot].isDirty = false }

    /// Keeps a taken link for the last group, before any other is marked.
    package mutating func keepDirty(_ slot: Int) { dirty.keep(slot) }

    // MARK: Timers

    /// The earliest timer of a connected link.
    var deadline: Instant? { timers.earliest }

    /// Sets the timer of a connected link to its deadline, the release of idle memory included.
    ///
    /// - Parameter hasIdleMemory: Whether the user of the link has memory that only a busy link needs.
    package mutating func arm(_ slot: Int, hasIdleMemory: Bool, now: Instant) {
        let deadline = links[slot].deadline(hasIdleMemory: hasIdleMemory, now: now)
        if let deadline { arm(slot, at: deadline) }
    }

    /// Sets the timer of a connected link to an instant, unless the timer is earlier. Setting it for every
    /// acknowledgement would cost more than a timer that fires early.
    @inline(__always)
    package mutating func arm(_ slot: Int, at deadline: Instant) {
        if let armed = links[slot].armedAt, armed <= deadline { return }
        links[slot].armedAt = deadline
        timers.set(slot, at: deadline)
    }

    /// Takes the next link whose timer has fired, if it has a connection.
    mutating func popExpired(now: Instant) -> Int? {
        while let slot = timers.popExpired(now: now) {
            guard links.isLive(slot) else { continue }
            links[slot].armedAt = nil
            if links[slot].connection != nil { return slot }
        }
        return nil
    }
}
