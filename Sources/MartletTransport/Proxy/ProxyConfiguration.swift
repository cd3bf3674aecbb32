internal import CMartletSystem

/// The proxies of a client (C-126).
public enum ProxyConfiguration: Hashable, Sendable {
    /// The proxy that the environment names, as for curl: `https_proxy` or `HTTPS_PROXY` for connections with TLS, and
    /// `all_proxy` or `ALL_PROXY` for all, unless `no_proxy` or `NO_PROXY` excludes the host. The default.
    case automatic
    /// No proxy.
    case none
    /// This proxy and no connection without it, whatever the environment names. Loopback addresses need no proxy.
    case proxy(ProxyAddress)
}

/// The proxy for an endpoint, and where it is named.
package struct SelectedProxy: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        case configuration
        /// A variable of the environment.
        case variable(String)
    }

    package let address: ProxyAddress
    package let source: Source

    package init(_ address: ProxyAddress, from source: Source) {
        (self.address, self.source) = (address, source)
    }

    /// Whether no connection and no lookup of a name may bypass the proxy: one of the configuration, or one of SOCKS,
    /// which hides the addresses of clients and the names that they look up (C-127).
    package var isExclusive: Bool { source == .configuration || address.kind == .socks5 }
}

/// Selects the proxy for an endpoint.
package struct ProxySelector: Sendable {
    /// A variable whose value is not the address of a proxy, and is ignored.
    package struct Fault: Hashable, Sendable, CustomStringConvertible {
        package let variable: String
        package let error: ProxyAddressError

        package var description: String { "\(variable): \(error)" }
    }

    private var secure: SelectedProxy?
    private var plain: SelectedProxy?
    private var exclusions = ProxyExclusions("")
    private var secureFaults: [Fault] = []
    private var plainFaults: [Fault] = []
    /// All variables that are ignored.
    package var faults: [Fault] { plainFaults + secureFaults }

    /// Selects no proxy.
    package init() {}

    /// - Parameter variable: Returns the value of a variable of the environment; nil if it is not set.
    package init(
        _ configuration: ProxyConfiguration, environment variable: (String) -> String? = Self.systemVariable
    ) {
        switch configuration {
        case .none: break
        case .proxy(let address):
            secure = SelectedProxy(address, from: .configuration)
            plain = secure
        case .automatic:
            plain = Self.read(["all_proxy", "ALL_PROXY"], &plainFaults, variable)
            secure = Self.read(["https_proxy", "HTTPS_PROXY"], &secureFaults, variable) ?? plain
            exclusions = ProxyExclusions(variable("no_proxy") ?? variable("NO_PROXY") ?? "")
        }
    }

    /// Reads the first variable that names a proxy. One that is empty or invalid counts as unset.
    private static func read(
        _ names: [String], _ faults: inout [Fault], _ variable: (String) -> String?
    ) -> SelectedProxy? {
        for name in names {
            guard let value = variable(name), !value.isEmpty else { continue }
            do throws(ProxyAddressError) {
                return SelectedProxy(try ProxyAddress(value), from: .variable(name))
            } catch {
                faults.append(Fault(variable: name, error: error))
            }
        }
        return nil
    }

    /// Returns the proxy for an endpoint; nil for a loopback address and an excluded host.
    package func proxy(for endpoint: Endpoint) -> SelectedProxy? {
        guard !isExempt(endpoint) else { return nil }
        return endpoint.security == .tls ? secure : plain
    }

    /// Returns the ignored variables that would choose the proxy for an endpoint (C-126).
    package func faults(for endpoint: Endpoint) -> [Fault] {
        guard !isExempt(endpoint) else { return [] }
        guard endpoint.security == .tls else { return plainFaults }
        return secure == plain ? secureFaults + plainFaults : secureFaults
    }

    private func isExempt(_ endpoint: Endpoint) -> Bool { endpoint.isLocal || exclusions.contains(endpoint) }

    package static func systemVariable(_ name: String) -> String? {
        unsafe martlet_environment(name).map { unsafe String(cString: $0) }
    }
}

/// The hosts that are reached without a proxy, in the form of the variable NO_PROXY (C-126): `*` for all, or names,
/// which include the names below them, addresses, and networks such as 10.0.0.0/8, each with an optional port,
/// separated by commas or blanks.
package struct ProxyExclusions: Sendable {
    /// The maximum number of entries. Further ones are ignored.
    package static let maxEntryCount = 1_024

    private enum Host: Equatable, Sendable {
        case all
        /// A name in lowercase, without a dot at either end.
        case name(Substring)
        case network(IPNetwork)
    }

    private let entries: [(host: Host, port: UInt16?)]

    package init(_ text: String) {
        let parts = text.lowercased().split(maxSplits: Self.maxEntryCount) { ", \t\n".contains($0) }
        entries = parts.prefix(Self.maxEntryCount).compactMap { Self.entry($0) }
    }

    private static func entry(_ text: Substring) -> (Host, UInt16?)? {
        if let network = IPNetwork(String(text)) { return (.network(network), nil) }
        var (host, port) = (text, UInt16?.none)
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            guard let number = decimalPort(text[text.index(after: colon)...]) else { return nil }
            (host, port) = (text[..<colon], number)
        }
        if host == "*" { return (.all, port) }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        if let network = IPNetwork(String(host)) { return (.network(network), port) }
        if host.hasPrefix("*.") { host = host.dropFirst() }
        if host.hasPrefix(".") { host = host.dropFirst() }
        if host.hasSuffix(".") { host = host.dropLast() }
        return host.isEmpty ? nil : (.name(host), port)
    }

    package func contains(_ endpoint: Endpoint) -> Bool {
        let address = IPAddress(endpoint.host)
        let host = endpoint.host.withoutFinalDot
        return entries.contains { entry in
            guard entry.port == nil || entry.port == endpoint.port else { return false }
            switch entry.host {
            case .all: return true
            case .network(let network):
                return address.map { network.contains($0) || network.contains($0.unmapped) } ?? false
            case .name(let name): return address == nil && (host == name || host.hasSuffix("." + name))
            }
        }
    }
}
