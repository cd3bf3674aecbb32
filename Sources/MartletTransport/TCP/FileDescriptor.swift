import CMartletSystem

/// An open descriptor. Its owner's end closes it, exactly once.
struct FileDescriptor: ~Copyable, Sendable {
    let number: Int32

    /// Takes ownership of the result of a system call, or throws the error that it encodes.
    init(_ result: Int32, from call: StaticString) throws(TransportError) {
        guard result >= 0 else { throw TransportError(errno: -result, call: call) }
        number = result
    }

    deinit {
        martlet_close(number)
    }
}

/// A descriptor with several owners: its user, and with Dispatch also the sources on it, which must release it before
/// it may be closed.
final class SharedDescriptor: Sendable {
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    var number: Int32 { descriptor.number }
}
