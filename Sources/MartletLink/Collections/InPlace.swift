/// A part of a large value that is always accessed at its address.
///
/// The compiler treats a value that contains a weak reference as one with an address. Without it, each call that
/// borrows a large value would copy its bytes to the stack first: 50 instructions for a kilobyte.
@usableFromInline
package struct InPlace: ~Copyable, Sendable {
    #if hasFeature(Embedded)
        // Embedded Swift has no weak references.
        @usableFromInline
        package init() {}
    #else
        private final class Nothing: Sendable {}

        private weak let nothing: Nothing?

        @usableFromInline
        package init() { nothing = nil }
    #endif
}
