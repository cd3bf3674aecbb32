import MartletHTTP
import MartletTransport

/// The address of a client that a proxy states in a request (RFC 7239, and X-Forwarded-For; C-122).
///
/// Clients can state any address, and only the entries of named proxies count (Specs/hostile.md row 111).
enum ForwardedAddress {
    /// Returns the latest stated address that is not one of the proxies; nil if there is none, or if it is hidden.
    static func find(in fields: [HTTPField], proxies: [IPNetwork]) -> SocketAddress? {
        for node in nodes(fields).reversed() {
            guard let address = address(node) else { return nil }
            if !proxies.contains(where: { $0.contains(address.ip) }) { return address }
        }
        return nil
    }

    /// The nodes through which the request went, the first one first. `Forwarded` takes precedence.
    private static func nodes(_ fields: [HTTPField]) -> [Substring] {
        guard let forwarded = fields[joined: "forwarded"] else {
            return (fields[joined: "x-forwarded-for"] ?? "").split(separator: ",").map(\.trimmingSpaces)
        }
        return forwarded.split(separator: ",").map { element in
            let pairs = element.split(separator: ";").map(\.trimmingSpaces)
            guard let pair = pairs.first(where: { $0.lowercased().hasPrefix("for=") }) else { return "unknown" }
            let value = pair.dropFirst(4)
            return value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
                ? value.dropFirst().dropLast() : value
        }
    }

    /// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
    private static func address(_ node: Substring) -> SocketAddress? {
        if let ip = IPAddress(String(node)) { return SocketAddress(ip, port: 0) }
        if node.hasPrefix("["), let end = node.firstIndex(of: "]") {
            guard let ip = IPAddress(String(node[..<end].dropFirst())), ip.isIPv6 else { return nil }
            return SocketAddress(ip, port: UInt16(node[end...].dropFirst(2)) ?? 0)
        }
        let parts = node.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let ip = IPAddress(String(parts[0])) else { return nil }
        return SocketAddress(ip, port: UInt16(parts[1]) ?? 0)
    }
}
