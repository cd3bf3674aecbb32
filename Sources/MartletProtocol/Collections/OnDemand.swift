/// State that has a neutral value, in which it needs no memory.
protocol Neutral {
    /// What the state is while nothing is under way.
    static var neutral: Self { get }
}

/// State in memory of its own, which it has only while it is in use.
///
/// Reading `value` without memory gives the neutral value; changing it takes memory. The owner calls `release` when the
/// state is neutral again. An array of one element is memory of its own that copies share until one of them changes.
struct OnDemand<Value: Neutral> {
    private var storage: ContiguousArray<Value> = []

    /// Whether the state has memory.
    @inline(__always)
    var isAllocated: Bool { !storage.isEmpty }

    @inline(__always)
    var value: Value {
        _read {
            if storage.isEmpty { yield Value.neutral } else { yield storage[0] }
        }
        _modify {
            if storage.isEmpty { storage.append(.neutral) }
            yield &storage[0]
        }
    }

    /// Gives the memory back; the state is neutral from then on.
    mutating func release() {
        storage = []
    }
}

extension OnDemand: Sendable where Value: Sendable {}
