import CMartletSystem

/// An IP address and a TCP port.
public struct SocketAddress: Hashable, Sendable {
    /// The IP address.
    public var ip: IPAddress
    /// The port in host byte order. Port 0 lets the system choose a port to listen on.
    public var port: UInt16

    /// Creates an address.
    public init(_ ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    /// Parses "192.0.2.1:80" or "[2001:db8::1]:80"; nil for any other text.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = decimalPort(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard let ip = IPAddress(String(host)), ip.isIPv6 == isBracketed else { return nil }
        self.init(ip, port: port)
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The numeric form, which parses to an equal address.
    public var description: String { ip.isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}

extension SocketAddress {
    init?(_ system: martlet_address) {
        guard let ip = IPAddress(system) else { return nil }
        self.init(ip, port: system.port)
    }

    var system: martlet_address {
        martlet_address(high: ip.high, low: ip.low, scope: ip.scope, port: port, family: ip.isIPv6 ? 6 : 4)
    }
}

/// Parses a port in decimal digits, without a sign or blanks.
package func decimalPort(_ text: Substring) -> UInt16? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt16(text) : nil
}
