/// The settings of a connection, which are valid.
struct NATSSettings: Sendable {
    /// The maximum number of characters of a subject.
    private static let maxSubjectCount = 128
    /// The maximum number of servers in a URL.
    private static let maxServerCount = 16

    let servers: [String]
    let configuration: NATSBus.Configuration

    /// Whether the servers are reached by TLS only.
    var isSecure: Bool { servers.contains { $0.hasPrefix("tls://") } }

    init(_ url: String, _ configuration: NATSBus.Configuration) throws(NATSError) {
        servers = url.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        self.configuration = configuration
        guard servers.count <= Self.maxServerCount, servers.allSatisfy(Self.isServer) else { throw .invalidURL }
        guard Self.isSubject(configuration.subject) else { throw .invalidSubject }
    }

    private static func isServer(_ text: String) -> Bool {
        guard NATSBus.isURL(text), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return false }
        let host = text.drop { $0 != "/" }.dropFirst(2)
        guard !host.isEmpty, host.last != "@", !host.hasPrefix(":"), !host.contains("/") else { return false }
        // The address behind the user or token; one of IPv6 is in brackets.
        let address = host.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let end: Character = address.hasPrefix("[") ? "]" : ":"
        let name = address.prefix { $0 != end }
        guard !name.isEmpty, end == ":" || address.count > name.count else { return false }
        let rest = end == "]" ? address.dropFirst(name.count + 1) : address.dropFirst(name.count)
        guard !rest.isEmpty else { return true }
        let digits = rest.dropFirst()
        return rest.first == ":" && digits.allSatisfy { "0"..."9" ~= $0 } && UInt16(digits).map { $0 > 0 } ?? false
    }

    private static func isSubject(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= maxSubjectCount
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
    }
}
