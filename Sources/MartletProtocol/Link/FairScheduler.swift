import MartletWire

/// Which session sends the next frame: deficit round robin over four classes (Shreedhar and Varghese, 1995; S-47).
///
/// A round gives each class its quantum of bytes. Within a round the higher class goes first as long as it has bytes
/// left of its quantum, so an urgent frame that arrives in the middle of a round is the next to be sent; when every
/// class with work has used its quantum, the next round begins. A class that sends more than it had left (a frame is
/// never cut) carries the debt into the next round. Within a class, sessions take turns frame by frame.
///
/// Bound: between two turns of a class that has work, all others together send at most `waitBoundByteCount(of:)`
/// (S-48).
struct FairScheduler: Sendable {
    /// Bytes a class may send in a round, by priority.
    static func quantumByteCount(of priority: Priority) -> Int {
        switch priority {
        case .urgent: 64 * 1024
        case .high: 64 * 1024
        case .normal: 32 * 1024
        case .low: 16 * 1024
        }
    }

    /// The most that other classes send while a class with work waits for its turn, in bytes: their quanta of the round
    /// that ends and of those in which the class makes up for its last frame, and the frame by which each may overrun.
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

    /// Shared by links until they have work.
    private var classes = FairScheduler.allUnused

    /// A bit for each class that has work, the most urgent lowest.
    private var busy: UInt8 = 0
    /// The bits of the classes that are not bulk.
    private static let talkClasses: UInt8 = 0b0011

    /// Adds a session's slot to its class; the caller sees to it that a slot is in at most once.
    mutating func enqueue(_ slot: Int, priority: Priority) {
        classes[Int(priority.rawValue)].ready.append(slot)
        hasMemory = true
        busy |= 1 << priority.rawValue
    }

    /// Whether any class that may send has work; bulk is what is not urgent and not high.
    func hasWork(allowsBulk: Bool) -> Bool {
        busy & (allowsBulk ? .max : FairScheduler.talkClasses) != 0
    }

    var hasBulkWork: Bool { busy & ~FairScheduler.talkClasses != 0 }

    /// Whose turn it is.
    struct Turn {
        var slot: Int
        var priority: Priority
        /// Its last frame begins within so many bytes: all that its class has left where it is alone in it, otherwise
        /// one frame's.
        var byteCount: Int
    }

    /// The slot whose turn it is; it stays at the head until `served` or `skipHead`.
    mutating func next(allowsBulk: Bool) -> Turn? {
        if let choice = choose(allowsBulk) { return choice }
        guard hasWork(allowsBulk: allowsBulk) else { return nil }
        while true {
            beginRound()
            if let choice = choose(allowsBulk) { return choice }
        }
    }

    /// Accounts frames to the class at whose head the session stood; it goes to the back of its class when it has
    /// more.
    mutating func served(_ priority: Priority, byteCount: Int, hasMore: Bool) {
        let index = Int(priority.rawValue)
        classes[index].deficit -= byteCount
        guard classes[index].ready.count > 1 || !hasMore else { return }
        if let slot = classes[index].ready.popFirst(), hasMore { classes[index].ready.append(slot) }
        noteWork(index)
    }

    /// Takes the head out of its class, because it has nothing it may send now.
    mutating func skipHead(_ priority: Priority) {
        _ = classes[Int(priority.rawValue)].ready.popFirst()
        noteWork(Int(priority.rawValue))
    }

    /// Takes a session's slot out of its class, wherever it stands.
    mutating func remove(_ slot: Int, priority: Priority) {
        let index = Int(priority.rawValue)
        guard classes[index].ready.contains(slot) else { return }
        classes[index].ready = Deque(classes[index].ready.filter { $0 != slot })
        noteWork(index)
    }

    mutating func removeAll() {
        guard busy != 0 else { return }
        for index in classes.indices { classes[index].ready.removeAll() }
        busy = 0
    }

    private mutating func noteWork(_ index: Int) {
        if classes[index].ready.isEmpty { busy &= ~(1 << UInt8(index)) }
    }

    private func choose(_ allowsBulk: Bool) -> Turn? {
        var waiting = busy & (allowsBulk ? .max : FairScheduler.talkClasses)
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

    /// Whether it has had work since it began anew.
    private(set) var hasMemory = false

    /// While nobody has work what was sent before counts for nothing, and the memory is given back.
    mutating func beginAnew() {
        guard busy == 0, hasMemory else { return }
        classes = FairScheduler.allUnused
        hasMemory = false
    }
}

extension Priority {
    /// Whether frames of this priority keep within the flight window (W-17).
    var isBulk: Bool { self >= .normal }
}
