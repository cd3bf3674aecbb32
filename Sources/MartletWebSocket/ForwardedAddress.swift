import MartletHTTP
import MartletTransport

/// The address of a client that a proxy states in the field `X-Forwarded-For` of a request (C-122).
///
/// Clients can state any address, and only the entries of named proxies count (Specs/hostile.md row 111). The field
/// `Forwarded` (RFC 7239) is not read: a proxy that writes one of the two passes the other on as its client sent it.
enum ForwardedAddress {
    /// Returns the latest stated address that is not one of the proxies; nil if there is none, or if it is hidden.
    static func find(in fields: [HTTPField], proxies: [IPNetwork]) -> SocketAddress? {
        let nodes = (fields[joined: "x-forwarded-for"] ?? "").split(separator: ",").map(\.trimmingSpaces)
        for node in nodes.reversed() {
            guard let address = address(node) else { return nil }
            if !proxies.contains(where: { $0.contains(address.ip) }) { return address }
        }
        return nil
    }

    /// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`. An
    /// address of IPv4 in IPv6 becomes one of IPv4, and one with a zone is refused.
    private static func address(_ node: Substring) -> SocketAddress? {
        guard !node.contains("%") else { return nil }
        if let ip = IPAddress(String(node)) { return SocketAddress(ip.unmapped, port: 0) }
        if node.hasPrefix("["), let end = node.firstIndex(of: "]") {
            let rest = node[end...].dropFirst()
            guard let ip = IPAddress(String(node[..<end].dropFirst())), ip.isIPv6 else { return nil }
            guard !rest.isEmpty else { return SocketAddress(ip.unmapped, port: 0) }
            guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()) else { return nil }
            return SocketAddress(ip.unmapped, port: port)
        }
        let parts = node.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let ip = IPAddress(String(parts[0])), let port = UInt16(parts[1]) else { return nil }
        return SocketAddress(ip, port: port)
    }
}
