/// A packet of a capture file.
public struct CapturedPacket: Equatable, Sendable {
    /// The time of capture, in nanoseconds since 1970.
    public var time: UInt64
    /// The type of the link-layer header at the beginning of ``bytes``.
    public var link: LinkType
    /// The captured bytes of the packet. A capture can omit its end.
    public var bytes: [UInt8]

    /// Creates a packet from a source other than a ``CaptureReader``.
    public init(time: UInt64, link: LinkType, bytes: [UInt8]) {
        self.time = time
        self.link = link
        self.bytes = bytes
    }
}

/// The type of the link-layer header before the IP header of a captured packet, by its number in libpcap.
///
/// ``CaptureDecoder`` reads the types declared here and skips packets of other types.
public struct LinkType: RawRepresentable, Hashable, Sendable {
    /// The number, as `pcap_datalink(3)` returns it.
    public let rawValue: UInt32

    /// Creates the type with this number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// BSD loopback: the address family as 4 bytes, in the byte order of the capturing machine.
    public static let null = LinkType(rawValue: 0)
    /// Ethernet, with at most two VLAN tags.
    public static let ethernet = LinkType(rawValue: 1)
    /// No header: the version field of the IP header determines the address family.
    public static let raw = LinkType(rawValue: 101)
    /// The same as ``raw``, with the number that libpcap uses on Linux and BSD.
    public static let rawOnBSD = LinkType(rawValue: 12)
    /// The same as ``raw``, with the number that libpcap uses on OpenBSD.
    public static let rawOnOpenBSD = LinkType(rawValue: 14)
    /// OpenBSD loopback: the address family as 4 bytes, most significant byte first.
    public static let loop = LinkType(rawValue: 108)
    /// Linux cooked capture, which captures all interfaces together.
    public static let linuxCooked = LinkType(rawValue: 113)
    /// Version 2 of the Linux cooked capture.
    public static let linuxCooked2 = LinkType(rawValue: 276)
    /// IPv4 without a header.
    public static let ipv4 = LinkType(rawValue: 228)
    /// IPv6 without a header.
    public static let ipv6 = LinkType(rawValue: 229)
}
