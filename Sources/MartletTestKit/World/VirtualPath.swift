import MartletLink
import MartletTransport

/// The path between a device and the relays: its conditions and its faults.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class VirtualPath: @unchecked Sendable {
    let network: VirtualNetwork
    var conditions: PathConditions
    private(set) var blocked: PathDirection?
    private(set) var snapshot: PathSnapshot
    private var delayed: [(direction: PathDirection, deliver: () -> Void)] = []
    private var attempts: [VirtualAttempt] = []
    private var sources: [VirtualPathSource] = []

    /// The address of the device on its current network.
    var address: IPAddress { snapshot.addresses[0] }

    init(_ network: VirtualNetwork, _ conditions: PathConditions, address: IPAddress) {
        self.network = network
        self.conditions = conditions
        snapshot = PathSnapshot(isUp: true, kind: .wifi, addresses: [address], defaultInterface: "wlan0")
    }

    var isReachable: Bool { blocked == nil }

    // MARK: - Connections

    func add(_ attempt: VirtualAttempt) {
        attempts.append(attempt)
    }

    func remove(_ attempt: VirtualAttempt) {
        attempts.removeAll { $0 === attempt }
    }

    // MARK: - Faults

    /// Delays all bytes in the given directions, without notice.
    func blackHole(_ direction: PathDirection) {
        blocked = direction
        deliverDelayed()
    }

    /// Delivers the delayed bytes, and later ones without delay.
    func restore() {
        blocked = nil
        deliverDelayed()
        for attempt in attempts { attempt.proceed() }
    }

    /// Reports another path to the loops of the device.
    func report(_ snapshot: PathSnapshot) {
        self.snapshot = snapshot
        sources.removeAll { $0.isCancelled }
        for source in sources { source.report(snapshot) }
    }

    func add(_ source: VirtualPathSource) {
        sources.append(source)
        source.report(snapshot)
    }

    /// Calls `deliver`, or delays it while the direction is blocked.
    func pass(_ direction: PathDirection, _ deliver: @escaping () -> Void) {
        guard isBlocked(direction) else { return deliver() }
        delayed.append((direction, deliver))
    }

    private func isBlocked(_ direction: PathDirection) -> Bool {
        switch blocked {
        case nil: false
        case .both: true
        case .up: direction == .up
        case .down: direction == .down
        }
    }

    private func deliverDelayed() {
        let waiting = delayed
        delayed = []
        for (direction, deliver) in waiting { pass(direction, deliver) }
    }
}

/// The reports of a device's path to one loop.
final class VirtualPathSource: PathSource, @unchecked Sendable {  // used by the thread that runs the world
    private let loop: EventLoop
    private var onChange: ((PathSnapshot) -> Void)?

    init(_ loop: EventLoop, _ onChange: @escaping (PathSnapshot) -> Void) {
        self.loop = loop
        self.onChange = onChange
    }

    var isCancelled: Bool { onChange == nil }

    func report(_ snapshot: PathSnapshot) {
        loop.execute { self.onChange?(snapshot) }
    }

    func cancel() {
        onChange = nil
    }
}
