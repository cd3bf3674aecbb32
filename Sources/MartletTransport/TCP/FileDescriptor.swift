import CMartletSystem

/// An open descriptor, closed exactly once: when its owner lets it go.
struct FileDescriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes ownership of what a system call returned, or throws the error that it returned instead.
    init(_ result: Int32, from call: StaticString) throws(TransportError) {
        guard result >= 0 else { throw TransportError(errno: -result, call: call) }
        number = result
    }

    deinit {
        martlet_close(number)
    }
}

/// A descriptor with more than one owner: who uses it, and with Dispatch also the sources on it,
/// which must have let it go before it may be closed.
final class SharedDescriptor: Sendable {
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    var number: Int32 { descriptor.number }
}
