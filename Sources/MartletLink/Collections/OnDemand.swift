/// A state with a neutral value, for which no memory is needed.
@usableFromInline
package protocol Neutral {
    /// The value of the state while it is not in use.
    static var neutral: Self { get }
}

/// A state with memory of its own, which is allocated only while the state is in use.
///
/// Without memory, `value` is the neutral value; a change allocates memory. The owner calls `release` when the state is
/// neutral again. The memory is an array of one element, which copies share until one of them changes.
@usableFromInline
package struct OnDemand<Value: Neutral> {
    @usableFromInline var storage: ContiguousArray<Value> = []

    /// Creates a state without memory.
    @inlinable
    package init() {}

    /// Whether the state has memory.
    @inlinable @inline(__always)
    package var isAllocated: Bool { !storage.isEmpty }

    @inlinable @inline(__always)
    package var value: Value {
        _read {
            if storage.isEmpty { yield Value.neutral } else { yield storage[0] }
        }
        _modify {
            if storage.isEmpty { storage.append(.neutral) }
            yield &storage[0]
        }
    }

    /// Releases the memory. The state is neutral thereafter.
    @inlinable
    package mutating func release() {
        storage = []
    }
}

extension OnDemand: Sendable where Value: Sendable {}
