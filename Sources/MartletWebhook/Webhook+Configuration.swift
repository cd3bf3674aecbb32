import MartletTransport

extension Webhook {
    /// The address and the bounds of a webhook.
    public struct Configuration: Sendable {
        /// The minimum number of bytes of a secret.
        public static let minSecretByteCount = 16

        /// The address of the gateway.
        public let url: String
        /// The secret with which requests are signed, shared with the gateway; nil for requests without a signature.
        public let secret: [UInt8]?
        /// Whether requests contain the text of the newest message. Otherwise they name its sender and its kind.
        public var includesContent = false
        /// The timeout of an attempt, above zero.
        public var timeout: Duration = .seconds(10)
        /// The bounds of the attempts of a request.
        public var retry = WebhookRetry.Configuration()

        /// Creates a configuration with default bounds.
        ///
        /// - Throws: `WebhookError.invalidURL`; `WebhookError.plaintextNotAllowed` for an `http` address, unless its
        ///   host is `localhost` or a loopback address; `WebhookError.shortSecret`.
        public init(url: String, secret: [UInt8]? = nil) throws(WebhookError) {
            guard let parts = Endpoint.parts(ofURL: url), let endpoint = Self.endpoint(parts.rest),
                url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#")
            else { throw .invalidURL(url) }
            switch parts.scheme.lowercased() {
            case "https": break
            case "http": guard endpoint.isLoopback else { throw .plaintextNotAllowed(host: endpoint.host) }
            default: throw .invalidURL(url)
            }
            if let secret { try Self.check(secret) }
            self.url = url
            self.secret = secret
        }

        /// The host and the port of an address without its scheme; nil if it also names a user.
        private static func endpoint(_ text: Substring) -> Endpoint? {
            try? Endpoint(parsing: "martlets://\(text.prefix { $0 != "/" && $0 != "?" })")
        }

        static func check(_ secret: [UInt8]) throws(WebhookError) {
            guard secret.count >= minSecretByteCount else { throw .shortSecret }
        }
    }
}
