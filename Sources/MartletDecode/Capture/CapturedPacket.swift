/// One packet of a capture file.
public struct CapturedPacket: Equatable, Sendable {
    /// When the packet was captured, in nanoseconds since 1970.
    public var time: UInt64
    /// The link-layer header that ``bytes`` begin with.
    public var link: LinkType
    /// The captured bytes of the packet; the capture may have left out its end.
    public var bytes: [UInt8]

    /// Creates a packet, for input that does not come from a ``CaptureReader``.
    public init(time: UInt64, link: LinkType, bytes: [UInt8]) {
        self.time = time
        self.link = link
        self.bytes = bytes
    }
}

/// The kind of link-layer header in front of the IP header of a captured packet, by its number in libpcap.
///
/// ``CaptureDecoder`` reads the kinds that are declared here and passes over packets of any other.
public struct LinkType: RawRepresentable, Hashable, Sendable {
    /// The number, as `pcap_datalink(3)` returns it.
    public let rawValue: UInt32

    /// The kind with that number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// BSD loopback: the address family as 4 bytes, in the byte order of the capturing machine.
    public static let null = LinkType(rawValue: 0)
    /// Ethernet, with at most two VLAN tags.
    public static let ethernet = LinkType(rawValue: 1)
    /// No header: the version of IP tells the family.
    public static let raw = LinkType(rawValue: 101)
    /// The same, with the number that libpcap uses on Linux and BSD.
    public static let rawOnBSD = LinkType(rawValue: 12)
    /// The same, with the number that libpcap uses on OpenBSD.
    public static let rawOnOpenBSD = LinkType(rawValue: 14)
    /// OpenBSD loopback: the address family as 4 bytes, most significant byte first.
    public static let loop = LinkType(rawValue: 108)
    /// Linux cooked capture, on all interfaces at once.
    public static let linuxCooked = LinkType(rawValue: 113)
    /// Version 2 of the Linux cooked capture.
    public static let linuxCooked2 = LinkType(rawValue: 276)
    /// IPv4 without a header.
    public static let ipv4 = LinkType(rawValue: 228)
    /// IPv6 without a header.
    public static let ipv6 = LinkType(rawValue: 229)
}
