import Synchronization

/// Several loops that share nothing, for a server one per core.
public final class EventLoopGroup: Sendable {
    /// All of them; which one a thing lives on is the caller's choice.
    public let loops: [EventLoop]
    private let nextIndex = Atomic<UInt>(0)

    /// `count` running loops, named `name` and their index, which poll busily as `EventLoop` says.
    public init(
        count: Int, backend: EventLoop.Backend = .platformDefault, name: String = "martlet",
        busyPollLimit: Duration = .zero
    ) {
        precondition(count > 0)
        loops = (0..<count).map {
            EventLoop(backend: backend, name: "\(name)-\($0)", busyPollLimit: busyPollLimit)
        }
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
