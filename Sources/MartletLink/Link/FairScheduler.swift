import MartletWire

/// The order in which sessions send: deficit round robin over four classes (Shreedhar and Varghese, 1995; S-47).
///
/// A round gives each class its quantum of bytes. Within a round the more urgent class is first while it has bytes left
/// of its quantum, so an urgent frame that is queued during a round is sent next. When every class with work has used
/// its quantum, the next round begins. A frame is never cut: a class that exceeds its quantum starts the next round
/// with the difference as a debt. Within a class, sessions alternate frame by frame.
///
/// Bound: between two turns of a class that has work, all others together send at most `waitBoundByteCount(of:)`
/// (S-48).
///
/// | state of a slot | ends with |
/// |---|---|
/// | absent | `enqueue` |
/// | ready in its class | `served` without more, `skipHead`, `remove` |
/// | blocked: it lacks credit | `popBlocked`, `unblock`; it can be enqueued meanwhile |
struct FairScheduler: Sendable {
    /// Bytes that a class may send in a round, by priority.
    static func quantumByteCount(of priority: Priority) -> Int {
        switch priority {
        case .urgent: 64 * 1024
        case .high: 64 * 1024
        case .normal: 32 * 1024
        case .low: 16 * 1024
        }
    }

    /// The maximum number of bytes that other classes send while a class with work waits for its turn: their quanta of
    /// the round that ends and of those in which the class makes up for its last frame, and one frame of each as
    /// overrun.
    static func waitBoundByteCount(of priority: Priority, maxFrameByteCount: Int) -> Int {
        let quantum = quantumByteCount(of: priority)
        let rounds = 1 + (maxFrameByteCount + quantum - 1) / quantum
        return Priority.allCases.filter { $0 != priority }
            .reduce(0) { $0 + rounds * quantumByteCount(of: $1) + maxFrameByteCount }
    }

    private struct Class: Sendable {
        var ready = Deque<Int>()
        var deficit: Int
    }

    private static let allUnused = Priority.allCases.map { Class(deficit: FairScheduler.quantumByteCount(of: $0)) }

    /// The storage is shared by all links without work.
    private var classes = FairScheduler.allUnused
    private var hasUsedClasses = false
    /// A bit for each class that has work, the most urgent lowest.
    private var busy: UInt8 = 0
    /// The bits of the classes that are not bulk.
    private static let interactiveClasses: UInt8 = 0b0011
    /// The slots of the sessions that lack credit.
    private var blocked = Deque<Int>()

    /// Adds a session's slot to its class; the caller ensures that a slot is there at most once.
    mutating func enqueue(_ slot: Int, priority: Priority) {
        classes[Int(priority.rawValue)].ready.append(slot)
        hasUsedClasses = true
        busy |= 1 << priority.rawValue
    }

    /// Whether a class that may send has work; bulk is every class below `high`.
    func hasWork(allowsBulk: Bool) -> Bool {
        busy & (allowsBulk ? .max : FairScheduler.interactiveClasses) != 0
    }

    var hasBulkWork: Bool { busy & ~FairScheduler.interactiveClasses != 0 }

    /// The turn of a session.
    struct Turn {
        var slot: Int
        var priority: Priority
        /// The number of bytes within which the last frame of the turn begins: the rest of the quantum if the session
        /// is alone in its class, otherwise one frame.
        var byteCount: Int
    }

    /// The next turn. Its slot stays at the head of its class until `served` or `skipHead`.
    mutating func next(allowsBulk: Bool) -> Turn? {
        if let choice = choose(allowsBulk) { return choice }
        guard hasWork(allowsBulk: allowsBulk) else { return nil }
        while true {
            beginRound()
            if let choice = choose(allowsBulk) { return choice }
        }
    }

    /// Charges frames to the class at whose head the session was. A session that has more moves to the end of its
    /// class.
    mutating func served(_ priority: Priority, byteCount: Int, hasMore: Bool) {
        let index = Int(priority.rawValue)
        classes[index].deficit -= byteCount
        guard classes[index].ready.count > 1 || !hasMore else { return }
        if let slot = classes[index].ready.popFirst(), hasMore { classes[index].ready.append(slot) }
        noteWork(index)
    }

    /// Removes the head of a class, which may send nothing now.
    mutating func skipHead(_ priority: Priority) {
        _ = classes[Int(priority.rawValue)].ready.popFirst()
        noteWork(Int(priority.rawValue))
    }

    /// Removes a session's slot from its class, at any position.
    mutating func remove(_ slot: Int, priority: Priority) {
        let index = Int(priority.rawValue)
        guard classes[index].ready.contains(slot) else { return }
        classes[index].ready = Deque(classes[index].ready.filter { $0 != slot })
        noteWork(index)
    }

    private mutating func noteWork(_ index: Int) {
        if classes[index].ready.isEmpty { busy &= ~(1 << UInt8(index)) }
    }

    private func choose(_ allowsBulk: Bool) -> Turn? {
        var waiting = busy & (allowsBulk ? .max : FairScheduler.interactiveClasses)
        while waiting != 0 {
            let index = waiting.trailingZeroBitCount
            let deficit = classes[index].deficit
            if deficit > 0, let slot = classes[index].ready.first, let priority = Priority(rawValue: UInt8(index)) {
                return Turn(
                    slot: slot, priority: priority, byteCount: classes[index].ready.count == 1 ? deficit : 1)
            }
            waiting &= waiting - 1
        }
        return nil
    }

    private mutating func beginRound() {
        for priority in Priority.allCases {
            let index = Int(priority.rawValue)
            let quantum = Self.quantumByteCount(of: priority)
            classes[index].deficit = min(classes[index].deficit + quantum, quantum)
        }
    }

    // MARK: Blocked sessions

    var blockedCount: Int { blocked.count }

    mutating func block(_ slot: Int) {
        blocked.append(slot)
    }

    mutating func unblock(_ slot: Int) {
        blocked = Deque(blocked.filter { $0 != slot })
    }

    /// Removes the slot that was blocked first.
    mutating func popBlocked() -> Int? {
        blocked.popFirst()
    }

    // MARK: Idle

    var hasMemory: Bool { hasUsedClasses || blocked.slotCount > 0 }

    /// Resets the deficits and releases the memory, unless a class has work.
    mutating func releaseIdleMemory() {
        blocked.releaseIfEmpty()
        guard busy == 0, hasUsedClasses else { return }
        classes = FairScheduler.allUnused
        hasUsedClasses = false
    }
}

extension Priority {
    /// Whether frames of this priority keep within the flight window (W-17).
    package var isBulk: Bool { self >= .normal }
}
