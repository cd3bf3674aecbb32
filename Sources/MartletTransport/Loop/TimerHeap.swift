/// The armed timers of a loop: a binary heap by deadline.
struct TimerHeap {
    private var timers: [LoopTimer] = []

    var count: Int { timers.count }

    /// The earliest deadline; `UInt64.max` without an armed timer.
    var earliestDeadline: UInt64 { timers.first?.deadline ?? .max }

    /// Sets, moves or, with nil, clears the deadline of `timer`.
    mutating func set(_ deadline: UInt64?, of timer: LoopTimer) {
        guard deadline != nil || timer.heapIndex != nil else { return }
        timer.deadline = deadline
        let index = timer.heapIndex ?? timers.count
        if deadline != nil {
            if index == timers.count { timers.append(timer) }
            return settle(timer, at: index)
        }
        timer.heapIndex = nil
        let last = timers.removeLast()
        if last !== timer { settle(last, at: index) }
    }

    /// Removes the earliest timer, if it is due, and clears its deadline.
    mutating func popDue(at now: UInt64) -> LoopTimer? {
        guard let first = timers.first, earliestDeadline <= now else { return nil }
        set(nil, of: first)
        return first
    }

    /// Clears the deadlines of all timers.
    mutating func removeAll() {
        while let last = timers.last { set(nil, of: last) }
    }

    /// Moves `timer` from `start`, whose entry is overwritten, to its index in the heap.
    private mutating func settle(_ timer: LoopTimer, at start: Int) {
        var index = start
        while index > 0, timer.precedes(timers[(index - 1) / 2]) {
            put(timers[(index - 1) / 2], at: index)
            index = (index - 1) / 2
        }
        while index * 2 + 1 < timers.count {
            var child = index * 2 + 1
            if child + 1 < timers.count, timers[child + 1].precedes(timers[child]) { child += 1 }
            guard timers[child].precedes(timer) else { break }
            put(timers[child], at: index)
            index = child
        }
        put(timer, at: index)
    }

    private mutating func put(_ timer: LoopTimer, at index: Int) {
        timers[index] = timer
        timer.heapIndex = index
    }
}
