import Synchronization

/// A part of a large value that is always accessed at its address.
///
/// The compiler treats a value that contains an atomic as one with an address. Without it, each call that borrows a
/// large value would copy its bytes to the stack first: 50 instructions for a kilobyte.
@usableFromInline
package struct InPlace: ~Copyable, Sendable {
    private let atom = Atomic<UInt8>(0)

    @usableFromInline
    package init() {}
}
