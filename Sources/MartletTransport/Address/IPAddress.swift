import CMartletSystem
internal import MartletWire

/// An IPv4 or IPv6 address. An IPv6 address includes its scope, the interface index of a link-local address.
public struct IPAddress: Hashable, Sendable {
    /// The upper half of an IPv6 address; 0 for IPv4.
    let high: UInt64
    /// The lower half of an IPv6 address, or the IPv4 address in the low 32 bits.
    let low: UInt64
    let scope: UInt32
    /// Whether this is an IPv6 address.
    public let isIPv6: Bool

    /// Creates an IPv4 address from 32 bits, most significant first: 127.0.0.1 is `0x7F00_0001`.
    package init(v4 bits: UInt32) {
        (high, low, scope, isIPv6) = (0, UInt64(bits), 0, false)
    }

    /// Creates an IPv6 address from its halves and its scope; scope 0 means none.
    package init(v6High high: UInt64, low: UInt64, scope: UInt32 = 0) {
        (self.high, self.low, self.scope, isIPv6) = (high, low, scope, true)
    }

    /// Parses a numeric address, IPv6 without brackets and with an optional `%scope`; nil for any other text.
    public init?(_ text: String) {
        var address = martlet_address()
        guard !text.utf8.contains(0), unsafe martlet_address_parse(text, &address) == 1 else { return nil }
        self.init(address)
    }

    /// The 4 or 16 bytes, most significant first, without the scope.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        if isIPv6 {
            bytes.append(bigEndian: high)
            bytes.append(bigEndian: low)
        } else {
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: low))
        }
        return bytes
    }

    /// The IPv4 loopback address, 127.0.0.1.
    public static let loopbackV4 = IPAddress(v4: 0x7F00_0001)
    /// The IPv6 loopback address, ::1.
    public static let loopbackV6 = IPAddress(v6High: 0, low: 1)
    /// The unspecified IPv4 address, for listening on all interfaces.
    public static let anyV4 = IPAddress(v4: 0)
    /// The unspecified IPv6 address, for listening on all interfaces.
    public static let anyV6 = IPAddress(v6High: 0, low: 0)

    /// Whether the address is 0.0.0.0 or ::.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// Whether the address is in 127.0.0.0/8 or is ::1.
    public var isLoopback: Bool {
        isIPv6 ? high == 0 && low == 1 : low >> 24 == 127
    }

    /// Whether the address is in fe80::/10 or 169.254.0.0/16.
    public var isLinkLocal: Bool {
        isIPv6 ? high >> 54 == 0xFE80 >> 6 : low >> 16 == 0xA9FE
    }
}

extension IPAddress: CustomStringConvertible {
    /// The numeric form (RFC 5952 for IPv6), without brackets.
    public var description: String {
        var address = SocketAddress(self, port: 0).system
        return systemText { unsafe martlet_address_format(&address, &$0, $1) }
    }
}

extension IPAddress: Comparable {
    /// IPv4 before IPv6, then by number.
    public static func < (left: IPAddress, right: IPAddress) -> Bool {
        (left.isIPv6 ? 1 : 0, left.high, left.low, left.scope) < (
            right.isIPv6 ? 1 : 0, right.high, right.low, right.scope
        )
    }
}

extension IPAddress {
    init?(_ system: martlet_address) {
        switch system.family {
        case 4: self.init(v4: UInt32(truncatingIfNeeded: system.low))
        case 6: self.init(v6High: system.high, low: system.low, scope: system.scope)
        default: return nil
        }
    }
}
