#if canImport(Network)
    import Dispatch
    import Network

    /// The path monitor of Network.framework. It is compiled on Apple systems only and not tested on Linux.
    final class NetworkFrameworkSource: PathSource {
        private let monitor = NWPathMonitor()

        init(on loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void) {
            // The closure runs on the loop only, as its caller requires.
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
            // The framework does not report addresses. The gateways stand in for them, so that a change of network is
            // noticed.
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
