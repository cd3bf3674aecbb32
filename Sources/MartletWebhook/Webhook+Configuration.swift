import Foundation
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
        let target: URL

        /// Creates a configuration with default bounds.
        ///
        /// - Throws: `WebhookError.invalidURL`; `WebhookError.plaintextNotAllowed` for an `http` address, unless its
        ///   host is `localhost` or a loopback address; `WebhookError.shortSecret`.
        public init(url: String, secret: [UInt8]? = nil) throws(WebhookError) {
            guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
                scheme == "https" || scheme == "http", let host = parts.host, !host.isEmpty, parts.user == nil,
                parts.password == nil, parts.fragment == nil, let target = parts.url
            else { throw .invalidURL(url) }
            let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
            guard scheme == "https" || name.lowercased() == "localhost" || IPAddress(name)?.isLoopback == true else {
                throw .plaintextNotAllowed(host: host)
            }
            if let secret { try Self.check(secret) }
            self.url = url
            self.secret = secret
            self.target = target
        }

        static func check(_ secret: [UInt8]) throws(WebhookError) {
            guard secret.count >= minSecretByteCount else { throw .shortSecret }
        }
    }
}
