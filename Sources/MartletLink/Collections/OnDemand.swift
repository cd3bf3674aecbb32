/// A state with a neutral value, for which no memory is needed.
@usableFromInline
package protocol Neutral: ~Copyable {
    /// The value of the state while it is not in use.
    static var neutral: NeutralValue<Self> { get }

    /// Creates the same value.
    init()
}

/// A value in memory that is never changed and never released.
@usableFromInline
@safe
package final class NeutralValue<Value: Neutral & ~Copyable> {
    @usableFromInline let memory: UnsafePointer<Value>

    @inlinable
    package init() {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe memory.initialize(to: Value())
        unsafe self.memory = UnsafePointer(memory)
    }
}

extension NeutralValue: @unchecked Sendable  // The value never changes.
where Value: Sendable & ~Copyable {}

/// A state with memory of its own, which is allocated only while the state is in use.
///
/// Without memory, `value` is the neutral value; a change allocates memory. The owner calls `release` when the state is
/// neutral again.
@usableFromInline
@safe
package struct OnDemand<Value: Neutral & ~Copyable>: ~Copyable {
    @usableFromInline var memory: UnsafeMutablePointer<Value>?

    /// Creates a state without memory.
    @inlinable
    package init() { unsafe memory = nil }

    @inlinable
    deinit {
        guard let memory = unsafe memory else { return }
        unsafe memory.deinitialize(count: 1)
        unsafe memory.deallocate()
    }

    /// Whether the state has memory.
    @inlinable @inline(__always)
    package var isAllocated: Bool { unsafe memory != nil }

    @inlinable
    package var value: Value {
        @inline(__always) unsafeAddress { unsafe address() }
        @inline(__always) unsafeMutableAddress { unsafe mutableAddress() }
    }

    /// Returns the address of the value for an accessor that wraps `value`. It is valid during the access.
    @inlinable @inline(__always)
    package func address() -> UnsafePointer<Value> {
        if let memory = unsafe memory { return unsafe UnsafePointer(memory) }
        return unsafe Value.neutral.memory
    }

    /// Returns the address of the value for a change in place.
    @inlinable @inline(__always)
    package mutating func mutableAddress() -> UnsafeMutablePointer<Value> {
        if let memory = unsafe memory { return unsafe memory }
        return unsafe allocate()
    }

    @inlinable @inline(never)
    mutating func allocate() -> UnsafeMutablePointer<Value> {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe memory.initialize(to: Value())
        unsafe self.memory = memory
        return unsafe memory
    }

    /// Releases the memory. The state is neutral thereafter.
    @inlinable
    package mutating func release() {
        self = OnDemand()
    }
}

// The memory has one owner.
extension OnDemand: @unchecked Sendable where Value: Sendable & ~Copyable {}
