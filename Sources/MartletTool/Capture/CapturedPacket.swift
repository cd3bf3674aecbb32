/// What a capture file's bytes do not allow.
struct CaptureError: Error, Equatable, Sendable {
    /// Where in the file, in bytes, or in which line of a text.
    var place: String
    /// What is wrong there.
    var problem: String
}

/// What stands in front of the IP header of a captured packet, by the number that capture files give it.
struct LinkType: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt32

    /// BSD loopback: the family as 4 bytes in the order of the machine that captured.
    static let null = LinkType(rawValue: 0)
    static let ethernet = LinkType(rawValue: 1)
    /// The IP header at once; its version tells which. 12 and 14 are what some systems call it.
    static let raw = LinkType(rawValue: 101)
    static let rawOnBSD = LinkType(rawValue: 12)
    static let rawOnOpenBSD = LinkType(rawValue: 14)
    /// OpenBSD loopback: the family as 4 bytes, most significant first.
    static let loop = LinkType(rawValue: 108)
    /// Linux, captured on all interfaces at once.
    static let linuxCooked = LinkType(rawValue: 113)
    static let linuxCooked2 = LinkType(rawValue: 276)
    static let ipv4 = LinkType(rawValue: 228)
    static let ipv6 = LinkType(rawValue: 229)
}

/// One packet of a capture.
struct CapturedPacket: Equatable, Sendable {
    /// The longest packet that is read, in bytes.
    static let maxByteCount = 16 << 20

    /// Nanoseconds since 1970.
    var time: UInt64
    /// What the bytes begin with.
    var link: LinkType
    /// What was captured of it.
    var bytes: [UInt8]
}

/// Takes packets from the bytes of one kind of capture file.
protocol PacketReader: Sendable {
    /// The next packet, `nil` until more bytes have come. Throws when the bytes are none of a capture.
    mutating func next(from queue: inout ByteQueue) throws(CaptureError) -> CapturedPacket?
}
