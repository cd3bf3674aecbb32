package import MartletTransport

/// An address to listen on: `127.0.0.1:7227`, `[::]:0`, or a port alone for the loopback address.
package enum ListenAddress {
    /// Returns the address in a text; nil for any other text.
    package static func parse(_ text: String) -> SocketAddress? {
        if let port = UInt16(text) { return SocketAddress(.loopbackV4, port: port) }
        return SocketAddress(text)
    }

    /// Returns the option for the address.
    package static func option(
        _ name: String = "listen", fallback: String? = nil,
        help: String = "address to listen on; port 0 takes a free port and prints it"
    ) -> Option<SocketAddress> {
        Option(
            name, "ADDRESS:PORT", fallback: fallback.flatMap { parse($0) }, shown: fallback,
            expectation: "an IP address and a port, such as 127.0.0.1:7227 or [::1]:0, or a port alone", help: help
        ) { parse($0) }
    }
}
