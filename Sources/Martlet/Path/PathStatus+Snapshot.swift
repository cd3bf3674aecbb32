import MartletProtocol
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
        let text = description
        guard isIPv6 else { return text.split(separator: ".").dropLast().joined(separator: ".") }
        let address = text.prefix { $0 != "%" }
        let halves = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        var groups = halves[0].split(separator: ":").map(String.init)
        if halves.count > 1 {
            let tail = halves[1].split(separator: ":").map(String.init)
            groups += Array(repeating: "0", count: max(0, 8 - groups.count - tail.count)) + tail
        }
        return groups.prefix(4).joined(separator: ":")
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
