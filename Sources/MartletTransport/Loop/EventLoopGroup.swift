import Synchronization

/// Several loops that share nothing, for a server one per core.
public final class EventLoopGroup: Sendable {
    /// All of them; which one a thing lives on is the caller's choice.
    public let loops: [EventLoop]
    private let nextIndex = Atomic<UInt>(0)

    /// `count` running loops, named `name` and their index, which poll busily as `EventLoop` says.
    ///
    /// Throws when the system has no thread or descriptor left for one of them; then none runs on.
    public init(
        count: Int, backend: EventLoop.Backend = .platformDefault, name: String = "martlet",
        busyPollLimit: Duration = .zero
    ) throws(TransportError) {
        precondition(count > 0)
        var loops: [EventLoop] = []
        do throws(TransportError) {
            for index in 0..<count {
                loops.append(try EventLoop(backend: backend, name: "\(name)-\(index)", busyPollLimit: busyPollLimit))
            }
        } catch {
            // A loop runs until it is shut down. Nothing is on these yet, so the call need not wait for that.
            let started = loops
            Task { for loop in started { await loop.shutdown() } }
            throw error
        }
        self.loops = loops
    }

    /// The loops in turn.
    public func next() -> EventLoop {
        let index = nextIndex.wrappingAdd(1, ordering: .relaxed).oldValue
        return loops[Int(index % UInt(loops.count))]
    }

    /// Shuts all loops down. Must not be called from an actor on one of them.
    public func shutdown() async {
        for loop in loops { await loop.shutdown() }
    }
}
