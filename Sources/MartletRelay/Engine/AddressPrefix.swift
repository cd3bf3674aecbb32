import MartletLink

/// The part of an address for which a relay counts connections: an IPv4 address, or the upper half of an IPv6 address.
package struct AddressPrefix: Hashable, Sendable {
    private let bits: UInt64
    private let isIPv6: Bool

    /// The prefix of an IPv4 address, most significant bit first.
    package init(v4 bits: UInt32) {
        (self.bits, isIPv6) = (UInt64(bits), false)
    }

    /// The prefix of an IPv6 address with this upper half.
    package init(v6High bits: UInt64) {
        (self.bits, isIPv6) = (bits, true)
    }
}
