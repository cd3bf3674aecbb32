/// What the kernel tells about links, addresses and routes (rtnetlink(7)); only what a path is made of.
enum NetlinkMessage: Equatable {
    case link(index: Int32, name: String, type: UInt16, flags: UInt32)
    case linkGone(index: Int32)
    case address(interface: Int32, IPAddress)
    case addressGone(interface: Int32, IPAddress)
    case defaultRoute(NetlinkRoute)
    case defaultRouteGone(NetlinkRoute)
    /// The answer to that dump is complete; `isConsistent` is false when something changed meanwhile.
    case done(sequence: UInt32, isConsistent: Bool)
    /// A request failed, or the kernel dropped messages: what is known may be wrong.
    case trouble
}

struct NetlinkRoute: Hashable {
    var isIPv6: Bool
    var interface: Int32
    /// Lower is better.
    var metric: UInt32
}

extension NetlinkMessage {
    /// All that matters in one datagram. What is cut short or malformed is trouble and ends it.
    static func parse(_ datagram: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while !rest.isEmpty {
            guard let header = NetlinkHeader(rest), let next = Fields(rest).aligned(header.byteCount) else {
                messages.append(.trouble)
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
        case Number.error: body.uint32(at: 0) == 0 ? nil : .trouble
        case Number.done: .done(sequence: header.sequence, isConsistent: header.flags & Number.interruptedFlag == 0)
        case Number.overrun: .trouble
        case Number.newLink, Number.deleteLink: link(body, isGone: header.type == Number.deleteLink)
        case Number.newAddress, Number.deleteAddress: address(body, isGone: header.type == Number.deleteAddress)
        case Number.newRoute, Number.deleteRoute: route(body, isGone: header.type == Number.deleteRoute)
        default: nil
        }
    }

    /// struct ifinfomsg: family, type at 2, index at 4, flags at 8.
    private static func link(_ body: Fields, isGone: Bool) -> NetlinkMessage? {
        guard let type = body.uint16(at: 2), let index = body.uint32(at: 4), let flags = body.uint32(at: 8) else {
            return .trouble
        }
        // A bridge tells of its ports in messages of its own, which say nothing of the link.
        guard body.uint8(at: 0) != Number.bridgeFamily else { return nil }
        if isGone { return .linkGone(index: Int32(bitPattern: index)) }
        let name = (body.attributes(after: 16)[Number.linkName] ?? []).prefix { $0 != 0 }
        return .link(
            index: Int32(bitPattern: index), name: String(decoding: name, as: UTF8.self), type: type, flags: flags)
    }

    /// struct ifaddrmsg: family, prefix length, flags, scope, index at 4.
    private static func address(_ body: Fields, isGone: Bool) -> NetlinkMessage? {
        guard let family = body.uint8(at: 0), let index = body.uint32(at: 4) else { return .trouble }
        let attributes = body.attributes(after: 8)
        // On a point-to-point link IFA_ADDRESS is the peer's and IFA_LOCAL ours; IPv6 has only the former.
        guard let bytes = attributes[Number.localAddress] ?? attributes[Number.address],
            let ip = IPAddress(family: family, bytes)
        else { return nil }
        let interface = Int32(bitPattern: index)
        let flags = attributes[Number.addressFlags].flatMap { Fields($0).uint32(at: 0) }
        // Nobody may use a tentative address yet, and the end of that is told.
        let isUsable = !isGone && (flags ?? UInt32(body.uint8(at: 2) ?? 0)) & Number.tentativeFlag == 0
        return isUsable ? .address(interface: interface, ip) : .addressGone(interface: interface, ip)
    }

    /// struct rtmsg: family, destination length, source length, tos, table, protocol, scope, type, flags at 8.
    private static func route(_ body: Fields, isGone: Bool) -> NetlinkMessage? {
        guard let family = body.uint8(at: 0), let table = body.uint8(at: 4), let type = body.uint8(at: 7) else {
            return .trouble
        }
        let attributes = body.attributes(after: 12)
        func number(_ attribute: UInt16) -> UInt32? { attributes[attribute].flatMap { Fields($0).uint32(at: 0) } }
        guard body.uint8(at: 1) == 0, type == Number.unicast,
            (number(Number.routeTable) ?? UInt32(table)) == Number.mainTable,
            family == Number.ipv4Family || family == Number.ipv6Family
        else { return nil }
        // Of several next hops (struct rtnexthop) the first counts.
        let hop = attributes[Number.routeHops].flatMap { Fields($0).uint32(at: 4) }
        guard let interface = number(Number.routeInterface) ?? hop else { return nil }
        let route = NetlinkRoute(
            isIPv6: family == Number.ipv6Family, interface: Int32(bitPattern: interface),
            metric: number(Number.routePriority) ?? 0)
        return isGone ? .defaultRouteGone(route) : .defaultRoute(route)
    }
}

/// The kernel's numbers: linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h.
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

/// Numbers at offsets that need not exist, in the host's byte order, which is little-endian wherever Swift runs on
/// Linux.
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

    /// What lies behind something of that length, which the kernel pads to four bytes except at the very end.
    func aligned(_ byteCount: Int) -> ArraySlice<UInt8>? {
        byteCount <= bytes.count ? bytes.dropFirst((byteCount + 3) & ~3) : nil
    }

    /// struct rtattr: length, type, value. Ends where one is malformed; the last of a type counts.
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
