/// A type with an unused value, which can represent nil.
protocol Vacant: Equatable {
    static var vacant: Self { get }
}

/// An optional with the memory size of its value.
@propertyWrapper
struct Compact<Value: Vacant> {
    private var value = Value.vacant

    @inline(__always)
    init(wrappedValue: Value?) {
        if let wrappedValue { value = wrappedValue }
    }

    @inline(__always)
    var wrappedValue: Value? {
        get { value == .vacant ? nil : value }
        set { value = newValue ?? .vacant }
    }
}

extension Compact: Equatable {}
extension Compact: Sendable where Value: Sendable {}

extension Instant: Vacant {
    static var vacant: Instant { .distantFuture }
}

extension Duration: Vacant {
    static var vacant: Duration { .nanoseconds(Int64.min) }
}

extension Int: Vacant {
    static var vacant: Int { .min }
}

extension UInt64: Vacant {
    static var vacant: UInt64 { .max }
}
