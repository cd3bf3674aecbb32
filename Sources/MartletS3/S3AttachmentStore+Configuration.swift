import MartletLink
public import MartletRelay
import MartletTransport
import MartletWebhook

extension S3AttachmentStore {
    /// The key by which requests are signed.
    public struct Credentials: Sendable, Equatable {
        /// The maximum number of bytes of a key, a secret or a token.
        private static let maxByteCount = 4096

        let key: String
        let secret: String
        let token: String?

        /// Creates credentials, with the token of a session if they are temporary.
        ///
        /// - Throws: `S3Error.invalidCredentials` unless all are printable ASCII, of at most 4,096 bytes.
        public init(key: String, secret: String, token: String? = nil) throws(S3Error) {
            for text in [key, secret, token ?? "-"] {
                guard (1...Self.maxByteCount).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
                else { throw .invalidCredentials }
            }
            (self.key, self.secret, self.token) = (key, secret, token)
        }

        /// Parses the first profile of a credentials file of AWS: `aws_access_key_id`, `aws_secret_access_key` and
        /// `aws_session_token`, one a line.
        ///
        /// - Throws: `S3Error.invalidCredentials`.
        public init(parsing text: String) throws(S3Error) {
            var lines = text.split(whereSeparator: \.isNewline)
            let second = lines.indices.dropFirst().first { lines[$0].first == "[" }
            lines = Array(lines[..<(second ?? lines.endIndex)])
            let fields = lines.map { line in
                line.split(separator: "=", maxSplits: 1).map { $0.split(separator: " ").joined() }
            }
            func value(_ name: String) -> String? { fields.first { $0.count == 2 && $0[0] == name }?[1] }
            guard let key = value("aws_access_key_id"), let secret = value("aws_secret_access_key") else {
                throw .invalidCredentials
            }
            try self.init(key: key, secret: secret, token: value("aws_session_token"))
        }
    }

    /// The bucket of a store, and how it is reached.
    public struct Configuration: Sendable {
        /// The maximum number of bytes of the prefix.
        private static let maxPrefixByteCount = 256
        /// The maximum number of bytes of the name of a bucket or a region.
        private static let maxNameByteCount = 63

        /// The path of all objects in the bucket; empty, or with a slash at its end.
        let prefix: String
        let region: String
        let credentials: Credentials
        /// The address of the bucket, with a slash at its end.
        let url: String
        /// A file with the certificates by which that of the service is checked; nil for those of the system.
        public var authorities: String?
        /// The timeout of a request, above zero.
        public var timeout: Duration = .seconds(20)
        /// The bounds of the attempts of a request.
        var retry = WebhookRetry.Configuration()
        /// The bounds of the store.
        public var limits = AttachmentLimits()

        /// Creates a configuration with default bounds.
        ///
        /// - Parameters:
        ///   - bucket: The name of the bucket.
        ///   - prefix: The path of the objects in it, of letters, digits and the characters `._-/`.
        ///   - region: The region of the bucket, which signatures contain.
        ///   - endpoint: The address of the service, whose paths begin with the bucket; nil for AWS.
        /// - Throws: `S3Error.invalidName`; `S3Error.invalidEndpoint`, also for an `http` address whose host is no
        ///   loopback address.
        public init(
            bucket: String, prefix: String = "", region: String = "us-east-1", endpoint: String? = nil,
            credentials: Credentials
        ) throws(S3Error) {
            func isName(_ text: String, _ maxByteCount: Int, _ more: String) -> Bool {
                (1...maxByteCount).contains(text.utf8.count)
                    && text.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || more.contains($0)) }
            }
            let parts = prefix.split(separator: "/")
            guard isName(bucket, Self.maxNameByteCount, "-."), isName(region, Self.maxNameByteCount, "-"),
                prefix.utf8.count <= Self.maxPrefixByteCount, prefix.allSatisfy(\.isASCII),
                parts.allSatisfy({ isName($0.lowercased(), Self.maxPrefixByteCount, "-._") && $0 != "." && $0 != ".." })
            else { throw .invalidName }
            let endpoint = endpoint ?? "https://s3.\(region).amazonaws.com"
            do throws(WebhookError) {
                _ = try Webhook.Configuration(url: endpoint)
            } catch .plaintextNotAllowed(let host) {
                throw .invalidEndpoint("\(WebhookError.plaintextNotAllowed(host: host))")
            } catch {
                // The text may contain a password.
                throw .invalidEndpoint("it is not of the form https://HOST")
            }
            guard !endpoint.contains("?") else { throw .invalidEndpoint("it has a query") }
            url = (endpoint.hasSuffix("/") ? endpoint : endpoint + "/") + bucket + "/"
            self.prefix = parts.map { "\($0)/" }.joined()
            self.region = region
            self.credentials = credentials
            (retry.maxAttemptCount, retry.base, retry.cap) = (4, .milliseconds(250), .seconds(2))
            retry.maxRetryAfter = .seconds(5)
        }
    }
}

/// An error of a store in S3. Its description contains no part of the credentials.
public enum S3Error: Error, Hashable, Sendable {
    /// The name of the bucket, the region or the prefix has other characters, or too many.
    case invalidName
    /// The address of the service is not valid.
    case invalidEndpoint(String)
    /// A key, secret or token is missing, or has characters that are not printable.
    case invalidCredentials
    /// The service has refused a request, with this status and code.
    case refused(method: String, status: Int, code: String)
    /// The service gave no answer in all attempts, for a reason of libcurl.
    case unavailable(String)
    /// An object or a list of the service is not valid.
    case invalidAnswer(String)
}

extension S3Error: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .invalidName: "the name of the bucket, the region or the prefix is not valid"
        case .invalidEndpoint(let text): "the address of the S3 service is not valid: \(text)"
        case .invalidCredentials:
            "the credentials lack aws_access_key_id or aws_secret_access_key, or have characters that are not printable"
        case .refused(let method, let status, let code):
            "the S3 service refused \(method) with status \(status)\(code.isEmpty ? "" : ", \(code)")"
        case .unavailable(let text): "the S3 service does not answer: \(text)"
        case .invalidAnswer(let text): "the S3 service has \(text)"
        }
    }
}
