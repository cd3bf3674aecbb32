/// Armed timers, the earliest first: a binary heap with at most one entry for each timer.
///
/// A deadline that moves later, as an idle timeout does with every frame, only changes the timer; its entry keeps the
/// old key and is put back when that comes up. So the key is never later than the deadline.
struct TimerHeap {
    private struct Entry {
        var key: UInt64
        var timer: LoopTimer
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }

    /// No timer is due before this; `UInt64.max` when none is armed.
    var earliestKey: UInt64 { entries.first?.key ?? .max }

    mutating func update(_ timer: LoopTimer) {
        switch (timer.heapIndex, timer.deadline) {
        case (nil, nil): break
        case (nil, let deadline?): insert(timer, deadline)
        case (let index?, nil): remove(at: index)
        case (let index?, let deadline?):
            guard deadline < entries[index].key else { return }
            entries[index].key = deadline
            siftUp(index)
        }
    }

    /// Takes out one timer that is due; its deadline is nil from then on.
    mutating func popDue(at now: UInt64) -> LoopTimer? {
        while let first = entries.first, first.key <= now {
            if let deadline = first.timer.deadline, deadline > first.key {
                entries[0].key = deadline
                siftDown(0)
                continue
            }
            remove(at: 0)
            first.timer.disarm()
            return first.timer
        }
        return nil
    }

    /// Clears the deadline of every timer.
    mutating func removeAll() {
        for entry in entries {
            entry.timer.disarm()
            entry.timer.heapIndex = nil
        }
        entries = []
    }

    private mutating func insert(_ timer: LoopTimer, _ deadline: UInt64) {
        entries.append(Entry(key: deadline, timer: timer))
        timer.heapIndex = entries.count - 1
        siftUp(entries.count - 1)
    }

    private mutating func remove(at index: Int) {
        entries[index].timer.heapIndex = nil
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        last.timer.heapIndex = index
        siftUp(index)
        if let settled = last.timer.heapIndex { siftDown(settled) }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, entries[index].key < entries[(index - 1) / 2].key {
            exchange(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            let children = (2 * index + 1)..<min(2 * index + 3, max(entries.count, 2 * index + 1))
            for child in children where entries[child].key < entries[least].key { least = child }
            guard least != index else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        entries[left].timer.heapIndex = left
        entries[right].timer.heapIndex = right
    }
}
