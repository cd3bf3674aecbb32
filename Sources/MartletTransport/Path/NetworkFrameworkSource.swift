#if canImport(Network)
    import Dispatch
    import Network

    /// Network.framework's path monitor. Kept to compile on Apple systems; it is not tested where this is built.
    final class NetworkFrameworkSource: PathSource {
        private let monitor = NWPathMonitor()

        init(on loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void) {
            // The closure runs on the loop only, which is what its caller promised it.
            nonisolated(unsafe) let report = report
            monitor.pathUpdateHandler = { path in
                let snapshot = PathSnapshot(path)
                loop.execute { unsafe report(snapshot) }
            }
            monitor.start(queue: DispatchQueue(label: "martlet-path"))
        }

        func cancel() {
            monitor.cancel()
        }
    }

    extension PathSnapshot {
        fileprivate init(_ path: NWPath) {
            guard path.status == .satisfied else {
                self = .loopbackOnly
                return
            }
            let kind: Kind =
                if path.usesInterfaceType(.wiredEthernet) {
                    .wired
                } else if path.usesInterfaceType(.wifi) {
                    .wifi
                } else if path.usesInterfaceType(.cellular) {
                    .cellular
                } else {
                    .unknown
                }
            // The framework does not tell addresses; a change of gateways stands in for a change of them.
            let gateways = path.gateways.compactMap { gateway -> IPAddress? in
                guard case .hostPort(let host, _) = gateway else { return nil }
                return IPAddress("\(host)")
            }
            self.init(
                isUp: true, kind: kind, addresses: gateways.sorted(),
                defaultInterface: path.availableInterfaces.first?.name)
        }
    }
#endif
