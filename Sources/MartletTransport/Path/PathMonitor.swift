/// Tells when the machine's way to the network changes: on Linux from the kernel's route socket, on Apple systems from
/// Network.framework. Everything on its loop.
///
/// Changes are gathered: one call a turn at most, and none when what changed does not show in the snapshot.
public final class PathMonitor: @unchecked Sendable {  // all state is touched on its loop only
    private let loop: EventLoop
    private let onChange: (PathSnapshot) -> Void
    private var source: (any PathSource)?

    /// What was told last; nil before the first snapshot and after `stop()`.
    public private(set) var current: PathSnapshot?

    /// `onChange` is called on the loop, first with the path as it is found, then for every change.
    /// Must be called on the loop.
    public init(on loop: EventLoop, onChange: @escaping (PathSnapshot) -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onChange = onChange
    }

    /// Begins to watch, on the loop. Throws when the system does not let it.
    /// The monitor lives until `stop()` or the loop's end.
    public func start() throws(TransportError) {
        loop.preconditionOnLoop()
        guard source == nil else { return }
        source = try systemPathSource(on: loop) { self.report($0) }
    }

    /// Ends watching, on the loop; nothing is reported after it.
    public func stop() {
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

/// Reports snapshots on the loop until cancelled; the same one may come twice.
protocol PathSource: AnyObject {
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
