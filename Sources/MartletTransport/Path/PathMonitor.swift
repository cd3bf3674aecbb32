/// Reports changes of the machine's network path, on Linux from the kernel's route socket and on Apple systems from
/// Network.framework. All calls happen on its loop.
///
/// Changes are coalesced to one report per turn. A change that does not alter the snapshot is not reported.
package final class PathMonitor: @unchecked Sendable {  // All state is accessed on its loop only.
    private let loop: EventLoop
    private let onChange: (PathSnapshot) -> Void
    private var source: (any PathSource)?

    /// The last reported snapshot; nil before the first and after `stop()`.
    package private(set) var current: PathSnapshot?

    /// Creates a monitor. `onChange` is called on the loop, first with the current path, then for every change. Must be
    /// called on the loop.
    package init(on loop: EventLoop, onChange: @escaping (PathSnapshot) -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onChange = onChange
    }

    /// Starts to monitor the path, on the loop. Throws when the system denies it. The monitor lives until `stop()` or
    /// the shutdown of the loop.
    package func start() throws(TransportError) {
        loop.preconditionOnLoop()
        guard source == nil else { return }
        if let host = loop.host {
            source = host.watchPath(of: loop) { self.report($0) }
        } else {
            source = try systemPathSource(on: loop) { self.report($0) }
        }
    }

    /// Stops monitoring, on the loop. No report follows.
    package func stop() {
        loop.preconditionOnLoop()
        source?.cancel()
        source = nil
        current = nil
    }

    private func report(_ snapshot: PathSnapshot) {
        guard source != nil, snapshot != current else { return }
        current = snapshot
        onChange(snapshot)
    }
}

/// Reports snapshots on the loop until it is cancelled. Consecutive snapshots may be equal.
package protocol PathSource: AnyObject {
    /// Ends the reports, on the loop.
    func cancel()
}

func systemPathSource(
    on loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void
) throws(TransportError) -> any PathSource {
    #if os(Linux)
        let source = NetlinkSource(on: loop, report)
        try source.start()
        return source
    #elseif canImport(Network)
        return NetworkFrameworkSource(on: loop, report)
    #else
        throw .system(errno: 0, call: "no path monitor on this system")
    #endif
}
