import MartletTransport

/// The path monitor that all clients of a loop share. It runs while it has observers.
///
/// All state except the registry belongs to the loop.
final class PathWatch: @unchecked Sendable {  // accessed on its loop only
    private static let watches = Guarded<[ObjectIdentifier: PathWatch]>([:])

    private let loop: EventLoop
    private var monitor: PathMonitor?
    private var current: PathStatus?
    private var observers: [ObjectIdentifier: (PathStatus) -> Void] = [:]

    private init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Adds an observer, which receives the current path and each later one; none on a system that does not report
    /// paths. It is called on the loop.
    static func add(_ client: LinkConnector, on loop: EventLoop, _ observe: @escaping (PathStatus) -> Void) {
        loop.preconditionOnLoop()
        let watch = watches.withLock { watches in
            if let watch = watches[ObjectIdentifier(loop)] { return watch }
            let watch = PathWatch(loop)
            watches[ObjectIdentifier(loop)] = watch
            return watch
        }
        watch.observers[ObjectIdentifier(client)] = observe
        if let current = watch.current { observe(current) }
        watch.start()
    }

    /// Removes the observer of a client. It is called on the loop.
    static func remove(_ client: LinkConnector, on loop: EventLoop) {
        loop.preconditionOnLoop()
        guard let watch = watches.withLock({ $0[ObjectIdentifier(loop)] }) else { return }
        watch.observers[ObjectIdentifier(client)] = nil
        guard watch.observers.isEmpty else { return }
        watch.monitor?.stop()
        watches.withLock { $0[ObjectIdentifier(loop)] = nil }
    }

    private func start() {
        guard monitor == nil else { return }
        let monitor = PathMonitor(on: loop) { [weak self] in self?.changed(PathStatus($0)) }
        self.monitor = monitor
        try? monitor.start()
    }

    private func changed(_ status: PathStatus) {
        current = status
        for observe in Array(observers.values) { observe(status) }
    }
}
