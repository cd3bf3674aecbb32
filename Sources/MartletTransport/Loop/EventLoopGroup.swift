/// Several loops without shared state, for a server usually one per core.
package final class EventLoopGroup: Sendable {
    /// The loops of the group.
    package let loops: [EventLoop]

    /// Creates and starts `count` loops, whose names are `name` and their index.
    ///
    /// Throws when the system has no thread or descriptor left for one of them. The others are then shut down.
    package init(
        count: Int, backend: EventLoop.Backend = .platformDefault, name: String = "martlet",
        spinLimit: Duration = .zero
    ) throws(TransportError) {
        precondition(count > 0)
        var loops: [EventLoop] = []
        do throws(TransportError) {
            for index in 0..<count {
                loops.append(try EventLoop(backend: backend, name: "\(name)-\(index)", spinLimit: spinLimit))
            }
        } catch {
            // A loop runs until its shutdown. These have no sources, so the initializer does not wait for them.
            let started = loops
            Task { for loop in started { await loop.shutdown() } }
            throw error
        }
        self.loops = loops
    }

    /// Creates `count` loops whose turns a host runs.
    package init(count: Int, on host: any LoopHost, name: String = "martlet") {
        precondition(count > 0)
        loops = (0..<count).map { EventLoop(on: host, name: "\(name)-\($0)") }
    }

    /// Shuts all loops down. Must not be called from an actor on one of them.
    package func shutdown() async {
        for loop in loops { await loop.shutdown() }
    }
}
