#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Watches a socket that another library owns. The loop waits on a duplicate of its descriptor, so the library may
/// close its own at any time.
///
/// All methods must be called on the loop, as the handler is.
package final class DescriptorWatch: PollSource {
    private let loop: EventLoop
    private let descriptor: SharedDescriptor
    private let handler: () -> Void
    private var key: PollKey?
    private var interest: Readiness = .readable

    /// Begins to wait until the descriptor is readable. The handler is called for each readiness and error.
    package init(_ number: Int32, on loop: EventLoop, _ handler: @escaping () -> Void) throws(TransportError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        let duplicate = fcntl(number, F_DUPFD_CLOEXEC, 0)
        descriptor = SharedDescriptor(try FileDescriptor(duplicate < 0 ? -errno : duplicate, from: "fcntl"))
        key = try loop.add(self, descriptor, interest: interest)
    }

    /// Changes what the loop waits for.
    package func wait(readable: Bool, writable: Bool) {
        var wanted: Readiness = []
        if readable { wanted.insert(.readable) }
        if writable { wanted.insert(.writable) }
        guard let key, wanted != interest else { return }
        interest = wanted
        loop.setInterest(wanted, of: key)
    }

    /// Ends the watch. The handler is not called afterwards.
    package func close() {
        if let key { loop.remove(key) }
        key = nil
    }

    func pollReady(_ readiness: Readiness) { handler() }

    func loopWillStop() { close() }
}
