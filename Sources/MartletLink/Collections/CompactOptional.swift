/// A type with an unused value, which can represent nil.
@usableFromInline
package protocol Vacant: Equatable {
    /// The value that represents nil.
    static var vacant: Self { get }
}

/// An optional with the memory size of its value.
@propertyWrapper
@usableFromInline
package struct CompactOptional<Value: Vacant> {
    @usableFromInline var value = Value.vacant

    @inlinable @inline(__always)
    package init(wrappedValue: Value?) {
        if let wrappedValue { value = wrappedValue }
    }

    @inlinable @inline(__always)
    package var wrappedValue: Value? {
        get { value == .vacant ? nil : value }
        set { value = newValue ?? .vacant }
    }
}

extension CompactOptional: Equatable {}
extension CompactOptional: Sendable where Value: Sendable {}

extension Instant: Vacant {
    @inlinable package static var vacant: Instant { .distantFuture }
}

extension Duration: Vacant {
    @inlinable package static var vacant: Duration { .nanoseconds(Int64.min) }
}

extension Int: Vacant {
    @inlinable package static var vacant: Int { .min }
}

extension UInt64: Vacant {
    @inlinable package static var vacant: UInt64 { .max }
}
