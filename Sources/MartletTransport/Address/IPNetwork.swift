/// A range of IP addresses with the same first bits, such as 192.0.2.0/24.
public struct IPNetwork: Hashable, Sendable {
    /// An address of the network. Its scope is irrelevant.
    public let address: IPAddress
    /// The number of equal bits: 0 to 32 for IPv4, 0 to 128 for IPv6.
    public let bitCount: Int

    /// Creates a network. Returns nil if an address of this family has fewer bits.
    public init?(_ address: IPAddress, bitCount: Int) {
        guard (0...(address.isIPv6 ? 128 : 32)).contains(bitCount) else { return nil }
        (self.address, self.bitCount) = (address, bitCount)
    }

    /// Parses an address with an optional number of bits after a slash; nil for any other text. Without the number the
    /// network contains one address.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress(String($0)) }) else { return nil }
        guard parts.count > 1 else {
            self.init(address, bitCount: address.isIPv6 ? 128 : 32)
            return
        }
        // The syntax of the number is that of a port.
        guard let bitCount = decimalPort(parts[1]) else { return nil }
        self.init(address, bitCount: Int(bitCount))
    }

    /// Returns whether an address is in the network. An IPv4 address is not in a network of IPv6.
    public func contains(_ other: IPAddress) -> Bool {
        guard address.isIPv6 == other.isIPv6 else { return false }
        // A shift by 64 or more gives zero.
        let highBits = address.isIPv6 ? bitCount : 0
        let lowBits = address.isIPv6 ? max(bitCount - 64, 0) : bitCount + 32
        return (address.high ^ other.high) >> (64 - min(highBits, 64)) == 0
            && (address.low ^ other.low) >> (64 - lowBits) == 0
    }
}

extension IPNetwork: CustomStringConvertible {
    /// The form that parses to an equal network.
    public var description: String { "\(address)/\(bitCount)" }
}
