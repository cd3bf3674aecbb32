import Martlet
import MartletToolSupport
import MartletTransport

/// The proxy of commands that are clients.
enum ProxyArguments {
    private static let proxy = Option.text(
        "proxy", "URL",
        help: "connect through the proxy http://USER:PASSWORD@HOST:PORT or socks5h://HOST:PORT only; none for no proxy "
            + "[the variables HTTPS_PROXY, ALL_PROXY and NO_PROXY, which hide the password from other users]")

    static let spec = proxy.spec

    /// The proxies of a client of an address.
    ///
    /// - Throws: For an invalid variable that would choose the proxy, too: a connection without the proxy may be what
    ///   its user has to prevent (C-126).
    static func checkedProxies(
        _ arguments: ParsedArguments, for address: String,
        environment: (String) -> String? = ProxySelector.systemVariable
    ) throws(UsageError) -> ProxyConfiguration {
        let proxies = try proxies(arguments)
        if let endpoint = try? Endpoint(parsing: address),
            let fault = ProxySelector(proxies, environment: environment).faults(for: endpoint).first
        {
            throw UsageError(message: "\(fault)")
        }
        return proxies
    }

    static func proxies(_ arguments: ParsedArguments) throws(UsageError) -> ProxyConfiguration {
        guard let text = arguments[proxy] else { return .automatic }
        guard text != "none" else { return .none }
        do throws(ProxyAddressError) { return .proxy(try ProxyAddress(text)) } catch {
            throw UsageError(message: "'--proxy': \(error)")
        }
    }
}
