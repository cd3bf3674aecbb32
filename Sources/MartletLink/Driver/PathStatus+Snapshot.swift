import MartletTransport

extension PathStatus {
    /// Converts a snapshot of the machine's network interfaces.
    ///
    /// A network is identified by the interface of the default route and by the prefixes of the machine's addresses, 24
    /// bits of IPv4 and 64 bits of IPv6. A host usually has the same prefixes at each visit to a network.
    init(_ snapshot: PathSnapshot) {
        var hash = FNV1a()
        hash.add(snapshot.defaultInterface ?? "")
        for prefix in Set(snapshot.addresses.map(\.networkPrefix)).sorted() { hash.add(prefix) }
        self.init(
            isUp: snapshot.isUp, kind: PathKind(snapshot.kind), network: NetworkID(rawValue: hash.value),
            addresses: Set(snapshot.addresses.map(\.description)))
    }
}

extension PathKind {
    init(_ kind: PathSnapshot.Kind) {
        self =
            switch kind {
            case .wired: .wired
            case .wifi: .wifi
            case .cellular: .cellular
            case .loopbackOnly: .loopback
            case .unknown: .other
            }
    }
}

extension IPAddress {
    /// The part of the address that identifies the network, as text.
    var networkPrefix: String {
        let bytes = bytes
        if !isIPv6 { return bytes.dropLast().map { "\($0)" }.joined(separator: ".") }
        return stride(from: 0, to: 8, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

/// The Fowler–Noll–Vo hash (FNV-1a, 64 bits). Unlike the hash of the standard library, it is the same in each process.
struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds the bytes of the text, followed by a zero byte.
    mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
        add(0)
    }

    private mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
