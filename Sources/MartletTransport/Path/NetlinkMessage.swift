/// A message of the kernel about links, addresses or routes (rtnetlink(7)), reduced to the fields of a path.
enum NetlinkMessage: Equatable {
    case link(index: Int32, name: String, type: UInt16, flags: UInt32)
    case linkRemoved(index: Int32)
    case address(interface: Int32, IPAddress)
    case addressRemoved(interface: Int32, IPAddress)
    case defaultRoute(NetlinkRoute)
    case defaultRouteRemoved(NetlinkRoute)
    /// The dump with this sequence is complete. `isConsistent` is false when something changed during the dump.
    case done(sequence: UInt32, isConsistent: Bool)
    /// A request failed, or the kernel dropped messages; the table may be wrong.
    case outOfSync
}

struct NetlinkRoute: Hashable {
    var isIPv6: Bool
    var interface: Int32
    /// The priority of the route; lower is better.
    var metric: UInt32
}

extension NetlinkMessage {
    /// Parses the relevant messages of a datagram. A truncated or malformed message gives `.outOfSync` and ends the
    /// datagram.
    static func parse(_ datagram: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while !rest.isEmpty {
            guard let header = NetlinkHeader(rest), let next = Fields(rest).aligned(header.byteCount) else {
                messages.append(.outOfSync)
                break
            }
            let body = Fields(rest.prefix(header.byteCount).dropFirst(NetlinkHeader.byteCount))
            if let message = parse(header, body) { messages.append(message) }
            rest = next
        }
        return messages
    }

    private static func parse(_ header: NetlinkHeader, _ body: Fields) -> NetlinkMessage? {
        switch header.type {
        case Number.error: body.uint32(at: 0) == 0 ? nil : .outOfSync
        case Number.done: .done(sequence: header.sequence, isConsistent: header.flags & Number.interruptedFlag == 0)
        case Number.overrun: .outOfSync
        case Number.newLink, Number.deleteLink: link(body, isRemoved: header.type == Number.deleteLink)
        case Number.newAddress, Number.deleteAddress: address(body, isRemoved: header.type == Number.deleteAddress)
        case Number.newRoute, Number.deleteRoute: route(body, isRemoved: header.type == Number.deleteRoute)
        default: nil
        }
    }

    /// struct ifinfomsg: family, type at 2, index at 4, flags at 8.
    private static func link(_ body: Fields, isRemoved: Bool) -> NetlinkMessage? {
        guard let type = body.uint16(at: 2), let index = body.uint32(at: 4), let flags = body.uint32(at: 8) else {
            return .outOfSync
        }
        // A bridge reports its ports in messages of their own, which do not describe the link.
        guard body.uint8(at: 0) != Number.bridgeFamily else { return nil }
        if isRemoved { return .linkRemoved(index: Int32(bitPattern: index)) }
        let name = (body.attributes(after: 16)[Number.linkName] ?? []).prefix { $0 != 0 }
        return .link(
            index: Int32(bitPattern: index), name: String(decoding: name, as: UTF8.self), type: type, flags: flags)
    }

    /// struct ifaddrmsg: family, prefix length, flags, scope, index at 4.
    private static func address(_ body: Fields, isRemoved: Bool) -> NetlinkMessage? {
        guard let family = body.uint8(at: 0), let index = body.uint32(at: 4) else { return .outOfSync }
        let attributes = body.attributes(after: 8)
        // On a point-to-point link IFA_ADDRESS is the peer's address and IFA_LOCAL the local one. IPv6 has only
        // IFA_ADDRESS.
        guard let bytes = attributes[Number.localAddress] ?? attributes[Number.address],
            let ip = IPAddress(family: family, bytes)
        else { return nil }
        let interface = Int32(bitPattern: index)
        let flags = attributes[Number.addressFlags].flatMap { Fields($0).uint32(at: 0) }
        // A tentative address is not usable yet. The kernel reports the end of that state.
        let isUsable = !isRemoved && (flags ?? UInt32(body.uint8(at: 2) ?? 0)) & Number.tentativeFlag == 0
        return isUsable ? .address(interface: interface, ip) : .addressRemoved(interface: interface, ip)
    }

    /// struct rtmsg: family, destination length, source length, tos, table, protocol, scope, type, flags at 8.
    private static func route(_ body: Fields, isRemoved: Bool) -> NetlinkMessage? {
        guard let family = body.uint8(at: 0), let table = body.uint8(at: 4), let type = body.uint8(at: 7) else {
            return .outOfSync
        }
        let attributes = body.attributes(after: 12)
        func number(_ attribute: UInt16) -> UInt32? { attributes[attribute].flatMap { Fields($0).uint32(at: 0) } }
        guard body.uint8(at: 1) == 0, type == Number.unicast,
            (number(Number.routeTable) ?? UInt32(table)) == Number.mainTable,
            family == Number.ipv4Family || family == Number.ipv6Family
        else { return nil }
        // The first of several next hops (struct rtnexthop) is used.
        let hop = attributes[Number.routeHops].flatMap { Fields($0).uint32(at: 4) }
        guard let interface = number(Number.routeInterface) ?? hop else { return nil }
        let route = NetlinkRoute(
            isIPv6: family == Number.ipv6Family, interface: Int32(bitPattern: interface),
            metric: number(Number.routePriority) ?? 0)
        return isRemoved ? .defaultRouteRemoved(route) : .defaultRoute(route)
    }
}

/// The numbers of linux/netlink.h, linux/rtnetlink.h, linux/if_link.h and linux/if_addr.h.
private enum Number {
    static let error: UInt16 = 2
    static let done: UInt16 = 3
    static let overrun: UInt16 = 4
    static let newLink: UInt16 = 16
    static let deleteLink: UInt16 = 17
    static let newAddress: UInt16 = 20
    static let deleteAddress: UInt16 = 21
    static let newRoute: UInt16 = 24
    static let deleteRoute: UInt16 = 25
    /// NLM_F_DUMP_INTR
    static let interruptedFlag: UInt16 = 0x10

    static let ipv4Family: UInt8 = 2
    static let bridgeFamily: UInt8 = 7
    static let ipv6Family: UInt8 = 10

    /// IFLA_IFNAME
    static let linkName: UInt16 = 3
    /// IFA_ADDRESS, IFA_LOCAL, IFA_FLAGS, IFA_F_TENTATIVE
    static let address: UInt16 = 1
    static let localAddress: UInt16 = 2
    static let addressFlags: UInt16 = 8
    static let tentativeFlag: UInt32 = 0x40
    /// RTA_OIF, RTA_PRIORITY, RTA_MULTIPATH, RTA_TABLE, RT_TABLE_MAIN, RTN_UNICAST
    static let routeInterface: UInt16 = 4
    static let routePriority: UInt16 = 6
    static let routeHops: UInt16 = 9
    static let routeTable: UInt16 = 15
    static let mainTable: UInt32 = 254
    static let unicast: UInt8 = 1
}

/// struct nlmsghdr: length, type, flags, sequence, port.
private struct NetlinkHeader {
    static let byteCount = 16
    var byteCount: Int
    var type: UInt16
    var flags: UInt16
    var sequence: UInt32

    init?(_ bytes: ArraySlice<UInt8>) {
        let fields = Fields(bytes)
        guard let length = fields.uint32(at: 0), let type = fields.uint16(at: 4), let flags = fields.uint16(at: 6),
            let sequence = fields.uint32(at: 8), length >= Self.byteCount, length <= bytes.count
        else { return nil }
        (byteCount, self.type, self.flags, self.sequence) = (Int(length), type, flags, sequence)
    }
}

/// Numbers at optional offsets, in host byte order, which is little-endian wherever Swift runs on Linux.
private struct Fields {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    func uint8(at offset: Int) -> UInt8? {
        offset < bytes.count ? bytes[bytes.startIndex + offset] : nil
    }

    func uint16(at offset: Int) -> UInt16? {
        guard let low = uint8(at: offset), let high = uint8(at: offset + 1) else { return nil }
        return UInt16(high) << 8 | UInt16(low)
    }

    func uint32(at offset: Int) -> UInt32? {
        guard let low = uint16(at: offset), let high = uint16(at: offset + 2) else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// The bytes after a structure of `byteCount` bytes. The kernel pads structures to four bytes, except the last.
    func aligned(_ byteCount: Int) -> ArraySlice<UInt8>? {
        byteCount <= bytes.count ? bytes.dropFirst((byteCount + 3) & ~3) : nil
    }

    /// struct rtattr: length, type, value. Parsing ends at a malformed attribute; the last attribute of a type is kept.
    func attributes(after headerByteCount: Int) -> [UInt16: ArraySlice<UInt8>] {
        var found: [UInt16: ArraySlice<UInt8>] = [:]
        var rest = aligned(headerByteCount) ?? []
        while let length = Fields(rest).uint16(at: 0), let type = Fields(rest).uint16(at: 2), length >= 4,
            let next = Fields(rest).aligned(Int(length))
        {
            found[type] = rest.prefix(Int(length)).dropFirst(4)
            rest = next
        }
        return found
    }
}

extension IPAddress {
    fileprivate init?(family: UInt8, _ bytes: ArraySlice<UInt8>) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch (family, bytes.count) {
        case (Number.ipv4Family, 4): self.init(v4: UInt32(truncatingIfNeeded: number(bytes)))
        case (Number.ipv6Family, 16): self.init(v6High: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
        default: return nil
        }
    }
}
