/// The links, addresses and default routes that the kernel reported, and the path that they form.
///
/// The kernel does not report every removal: for example, the routes over a link that goes down vanish silently. After
/// each removal the table is therefore stale and must be filled again.
struct PathTable: Equatable {
    /// The maximum number of links. Further ones are ignored.
    static let maxLinkCount = 1024
    /// The maximum number of addresses. Further ones are ignored.
    static let maxAddressCount = 4096
    /// The maximum number of default routes. Further ones are ignored.
    static let maxRouteCount = 1024

    private struct Link: Equatable {
        var name: String
        var type: UInt16
        var flags: UInt32

        /// IFF_UP and IFF_RUNNING: the link has a carrier.
        var isRunning: Bool { flags & 0x1 != 0 && flags & 0x40 != 0 }
        var isLoopback: Bool { flags & 0x8 != 0 }

        var kind: PathSnapshot.Kind {
            if name.hasPrefix("wl") { return .wifi }
            // ARPHRD_RAWIP and ARPHRD_PPP are the types of modems.
            if name.hasPrefix("ww") || name.hasPrefix("rmnet") || type == 519 || type == 512 { return .cellular }
            return type == 1 ? .wired : .unknown
        }
    }

    private struct Address: Hashable {
        var interface: Int32
        var ip: IPAddress
    }

    private var links: [Int32: Link] = [:]
    private var addresses: Set<Address> = []
    private var routes: Set<NetlinkRoute> = []

    /// Applies a message. Returns whether an entry was removed, and the table is stale.
    mutating func apply(_ message: NetlinkMessage) -> Bool {
        switch message {
        case .link(let index, let name, let type, let flags):
            let link = Link(name: name, type: type, flags: flags)
            let wasRunning = links[index]?.isRunning ?? false
            if links[index] != nil || links.count < Self.maxLinkCount { links[index] = link }
            return wasRunning && !link.isRunning
        case .linkRemoved(let index):
            return links.removeValue(forKey: index) != nil
        case .address(let interface, let ip):
            if addresses.count < Self.maxAddressCount { addresses.insert(Address(interface: interface, ip: ip)) }
            return false
        case .addressRemoved(let interface, let ip):
            return addresses.remove(Address(interface: interface, ip: ip)) != nil
        case .defaultRoute(let route):
            if routes.count < Self.maxRouteCount { routes.insert(route) }
            return false
        case .defaultRouteRemoved(let route):
            return routes.remove(route) != nil
        case .done: return false
        case .outOfSync: return true
        }
    }

    /// The numbers of links, addresses and routes.
    var counts: [Int] { [links.count, addresses.count, routes.count] }

    var snapshot: PathSnapshot {
        let usable = addresses.filter { address in
            guard let link = links[address.interface] else { return false }
            return link.isRunning && !link.isLoopback && !address.ip.isLoopback && !address.ip.isLinkLocal
        }
        let best = routes.filter { links[$0.interface]?.isRunning ?? false }
            .min { ($0.isIPv6 ? 1 : 0, $0.metric, $0.interface) < ($1.isIPv6 ? 1 : 0, $1.metric, $1.interface) }
        guard let interface = best?.interface ?? usable.map(\.interface).min(), let link = links[interface] else {
            return .loopbackOnly
        }
        return PathSnapshot(
            isUp: true, kind: link.kind, addresses: Set(usable.map(\.ip)).sorted(),
            defaultInterface: best.map { _ in link.name })
    }
}
