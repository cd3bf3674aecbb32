import MartletAuthentication
public import MartletWebhook

extension InfluxExporter {
    /// The database, the spool, and the bounds of an exporter.
    public struct Configuration: Sendable {
        /// The address to which lines are posted, with the precision of nanoseconds.
        public let url: String
        /// The folder of the spool, which is created. Its parent exists.
        public let spoolFolder: String
        /// The maximum size of the spool, in bytes. Beyond it batches of clients are refused, and clients keep them.
        public var maxSpoolByteCount = 64 << 20
        /// The token: of InfluxDB 2, or a user and a password, `user:password`, of InfluxDB 1. Nil for none.
        public var token: String?
        /// The tag with the name and version of the application; nil to add none.
        public var agentTag: String? = "client"
        /// The maximum number of series of all clients since the creation. Points of further ones are dropped.
        public var maxSeriesCount = 65_536
        /// The maximum number of series that one account adds to those known before.
        public var maxSeriesPerAccountCount = 1024
        /// The maximum age of a point. Older ones are dropped.
        public var maxAge: Duration = .seconds(30 * 86_400)
        /// The maximum duration by which a clock of a client may be ahead. Later points are dropped.
        public var maxAhead: Duration = .seconds(3600)
        /// The timeout of a request.
        public var timeout: Duration = .seconds(10)
        /// The waits between the attempts of a request. Their number has no bound.
        public var retry = WebhookRetry.Configuration()

        /// Creates a configuration with default bounds.
        ///
        /// - Parameters:
        ///   - url: The address of the endpoint for writes, such as `http://127.0.0.1:8086/write?db=app` of InfluxDB 1,
        ///     or `https://influx.example/api/v2/write?org=example&bucket=app` of InfluxDB 2.
        ///   - spoolFolder: The folder of the spool.
        /// - Throws: `WebhookError.invalidURL`; `WebhookError.plaintextNotAllowed` for an `http` address of another
        ///   machine.
        public init(url: String, spoolFolder: String) throws(WebhookError) {
            _ = try Webhook.Configuration(url: url)
            guard let query = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { throw .invalidURL(url) }
            let names = url[query...].dropFirst().split(separator: "&").map { $0.prefix { $0 != "=" } }
            self.url = names.contains("precision") ? url : "\(url)&precision=ns"
            isVersion2 = url[..<query].hasSuffix("/api/v2/write")
            self.spoolFolder = spoolFolder
        }

        private let isVersion2: Bool

        /// The fields of a request.
        var fields: [String] {
            let fields = ["Content-Type: text/plain; charset=utf-8", "User-Agent: martlet"]
            guard let token else { return fields }
            let scheme = isVersion2 ? "Token \(token)" : "Basic \(Base64.encode(Array(token.utf8), .standard))"
            return fields + ["Authorization: \(scheme)"]
        }
    }

    /// An event for a log.
    public enum Event: Equatable, Sendable {
        /// The database takes no lines: the status, or nil without an answer. Attempts are repeated.
        case unavailable(status: Int?)
        /// The database takes lines again.
        case recovered
        /// The database has refused lines, which are dropped.
        case rejected(count: Int, status: Int)
        /// Records of the spool are damaged and lost.
        case spoolDamaged(byteCount: Int)
        /// The spool cannot be written or read.
        case spoolFailed(String)
        /// The spool can be written and read again.
        case spoolRecovered
        /// The spool is full: batches of clients are refused.
        case spoolFull
    }
}
