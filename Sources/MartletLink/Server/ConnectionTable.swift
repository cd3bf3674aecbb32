import MartletWire

/// The name of a connection: its slot at the server and the generation of its use. An old key finds nothing.
@usableFromInline
package struct ConnectionKey: Hashable, Sendable {
    @usableFromInline let slot: Int32
    @usableFromInline let generation: UInt32

    init(slot: Int32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    /// The slot, which no other open connection has.
    @inlinable
    package var index: Int { Int(slot) }

    @inlinable
    package static func == (left: ConnectionKey, right: ConnectionKey) -> Bool {
        left.slot == right.slot && left.generation == right.generation
    }

    @inlinable
    package func hash(into hasher: inout Hasher) {
        hasher.combine(slot)
        hasher.combine(generation)
    }
}

/// The connections of a server by slot, with their timers and their part of the memory budget.
///
/// A driver names a connection by a key, which consists of the slot and the generation of its use. A key of an earlier
/// use finds nothing.
///
/// | state of a slot | owns | ends |
/// |---|---|---|
/// | free | nothing | `insert` |
/// | in use | a connection, its timers, its bytes | `remove` |
struct ConnectionTable: ~Copyable {
    private var connections = SlotTable<ServerConnection>()
    private var generation: UInt32 = 0
    private var timers = SlotTimers()
    /// The expiries of the connections' credentials.
    private var credentialExpiries = SlotTimers()
    /// Bytes that framers and carriers hold, as of the last `settle` of each connection.
    private(set) var byteCount = 0

    var count: Int { connections.count }
    var slots: Range<Int> { connections.slots }
    /// Connections and their timers.
    var heldCount: Int { connections.count + timers.count + credentialExpiries.count }
    /// The earliest timer or expiry of a credential.
    var deadline: Instant? { timers.earliest.orEarlier(credentialExpiries.earliest) }

    @inline(__always)
    func isLive(_ slot: Int) -> Bool { connections.isLive(slot) }

    subscript(slot: Int) -> ServerConnection {
        @inline(__always) unsafeAddress { unsafe connections.address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe connections.mutableAddress(slot) }
    }

    /// The slot of a key; nil when its connection no longer exists.
    @inline(__always)
    func slot(_ key: ConnectionKey) -> Int? {
        let slot = Int(key.slot)
        return connections.isLive(slot) && connections[slot].generation == key.generation ? slot : nil
    }

    func find(_ slot: Int) -> ServerConnection? { connections.find(slot) }

    func key(_ slot: Int) -> ConnectionKey {
        ConnectionKey(slot: Int32(slot), generation: connections[slot].generation)
    }

    /// The phase of a slot's connection; nil when the slot is free.
    @inline(__always)
    func phase(_ slot: Int) -> ServerConnection.Phase? { isLive(slot) ? connections[slot].phase : nil }

    /// Adds a connection that was accepted here or transferred from another loop.
    mutating func insert(_ connection: ServerConnection) -> Int {
        generation &+= 1
        let slot = connections.insert(connection)
        connections[slot].start(generation: generation)
        return slot
    }

    mutating func remove(_ slot: Int) {
        guard isLive(slot) else { return }
        byteCount -= connections[slot].charge
        connections.remove(slot)
        disarm(slot)
    }

    /// Updates the byte count after a change of a connection.
    @inline(__always)
    mutating func settle(_ slot: Int) { byteCount += connections[slot].takeChargeChange() }

    // MARK: Timers

    /// Sets the timer of a connection to its deadline, unless the timer is earlier. A timer that fires early is set
    /// again.
    mutating func arm(_ slot: Int, _ configuration: LinkServerConfiguration) {
        if isLive(slot), let due = connections[slot].arm(configuration) { timers.set(slot, at: due) }
    }

    /// Cancels the timers of a connection.
    mutating func disarm(_ slot: Int) {
        timers.cancel(slot)
        credentialExpiries.cancel(slot)
    }

    /// Sets the expiry of a connection's credential (C-66); nil if it does not expire.
    mutating func setCredentialExpiry(_ slot: Int, at expiry: Instant?) { credentialExpiries.set(slot, at: expiry) }

    /// Whether the credential of a connection expires.
    func hasCredentialExpiry(_ slot: Int) -> Bool { credentialExpiries.deadline(of: slot) != nil }

    /// Takes the next connection whose credential has expired.
    mutating func popExpiredCredential(now: Instant) -> Int? { credentialExpiries.popExpired(now: now) }

    /// Takes the next connection whose deadline has passed, and the deadline's error code.
    mutating func popOverdue(_ configuration: LinkServerConfiguration, now: Instant) -> (slot: Int, code: ErrorCode)? {
        while let slot = timers.popExpired(now: now) {
            guard isLive(slot) else { continue }
            connections[slot].disarm()
            guard let due = connections[slot].deadline(configuration) else { continue }
            if due.at <= now { return (slot, due.code) }
            arm(slot, configuration)
        }
        return nil
    }

    // MARK: Quiescence

    /// Checks that no connection has unfinished work, although its peer has received everything.
    func check(_ check: inout QuiescenceCheck) {
        for slot in slots where isLive(slot) {
            check.unset("a connection's incomplete frame", connections[slot].partialSince)
            check.unset("a connection's request to transmit", connections[slot].requestedAt)
        }
    }
}
