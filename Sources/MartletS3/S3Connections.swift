import CMartletHTTP
import Dispatch
import MartletTransport
import MartletWebhook

/// A request to the bucket.
struct S3Request: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case delete = "DELETE"
    }

    var method: Method
    /// The key of the object below the bucket; empty for the bucket.
    var key: String
    /// Encoded names and values in ascending order, as they are signed.
    var query = ""
    var range: ClosedRange<UInt64>?
    var body: [UInt8] = []
}

/// The answer to a request.
struct S3Response: Sendable {
    var status: Int
    var body: [UInt8] = []
    /// The clock of the service, in milliseconds since 1970.
    var date: UInt64?
    var retryAfter: Duration?
}

/// The end of an attempt.
enum S3Outcome: Sendable {
    case answered(S3Response)
    case failed(String)
}

/// The connections to a service, each on a thread while it has a request.
final class S3Connections: Sendable {
    /// The maximum number of requests in progress. Further ones wait in order.
    static let maxCount = 16
    /// The maximum number of bytes of a response: a list of 1,000 objects, or the manifest of an attachment.
    static let maxResponseByteCount = 16 << 20

    private struct State {
        var idle: [S3Connection] = []
        var count = 0
        var waiting: [CheckedContinuation<S3Connection, Never>] = []
    }

    private let configuration: S3AttachmentStore.Configuration
    private let credentials: Guarded<S3AttachmentStore.Credentials>
    private let queue = DispatchQueue(label: "martlet-s3", attributes: .concurrent)
    private let state = Guarded(State())

    init(_ configuration: S3AttachmentStore.Configuration) {
        self.configuration = configuration
        credentials = Guarded(configuration.credentials)
    }

    /// Replaces the credentials for the requests that follow.
    func replaceCredentials(by credentials: S3AttachmentStore.Credentials) {
        self.credentials.withLock { $0 = credentials }
    }

    func perform(_ request: S3Request) async -> S3Outcome {
        let credentials = credentials.withLock { $0 }
        let connection = await withCheckedContinuation { continuation in
            let ready: S3Connection? = state.withLock { state in
                if let idle = state.idle.popLast() { return idle }
                guard state.count < Self.maxCount else {
                    state.waiting.append(continuation)
                    return nil
                }
                state.count += 1
                return S3Connection()
            }
            if let ready { continuation.resume(returning: ready) }
        }
        let outcome = await withCheckedContinuation { continuation in
            queue.async { [configuration] in
                continuation.resume(returning: connection.perform(request, configuration, credentials))
            }
        }
        let next: CheckedContinuation<S3Connection, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.idle.append(connection)
            return nil
        }
        next?.resume(returning: connection)
        return outcome
    }
}

/// A connection of libcurl. One thread uses it at a time.
@safe private final class S3Connection: @unchecked Sendable {
    private let exchange: OpaquePointer?

    init() {
        unsafe exchange = martlet_exchange_create()
    }

    deinit {
        if let exchange = unsafe exchange { unsafe martlet_exchange_destroy(exchange) }
    }

    func perform(
        _ request: S3Request, _ configuration: S3AttachmentStore.Configuration,
        _ credentials: S3AttachmentStore.Credentials
    ) -> S3Outcome {
        guard let exchange = unsafe exchange else { return .failed("no memory") }
        var fields = ["x-amz-content-sha256: \(S3Names.sha256(request.body))"]
        if let token = credentials.token { fields.append("x-amz-security-token: \(token)") }
        if let range = request.range { fields.append("range: bytes=\(range.lowerBound)-\(range.upperBound)") }
        if !request.body.isEmpty { fields.append("content-type: application/octet-stream") }
        let url = configuration.url + request.key + (request.query.isEmpty ? "" : "?\(request.query)")
        let timeout = Int(max(min(configuration.timeout, .seconds(86_400)) / .milliseconds(1), 1))
        let maxByteCount = S3Connections.maxResponseByteCount
        var isReady =
            unsafe martlet_exchange_prepare(exchange, request.method.rawValue, url, timeout, maxByteCount) != 0
            && martlet_exchange_sign(
                exchange, "aws:amz:\(configuration.region):s3", credentials.key, credentials.secret) != 0
        if let path = configuration.authorities, unsafe martlet_exchange_trust(exchange, path) == 0 { isReady = false }
        for field in fields { isReady = unsafe martlet_exchange_add_field(exchange, field) != 0 && isReady }
        guard isReady else { return .failed("no memory") }
        let status = unsafe request.body.withUnsafeBytes { bytes in
            unsafe martlet_exchange_perform(exchange, bytes.isEmpty ? nil : bytes.baseAddress, bytes.count)
        }
        guard status > 0 else { return .failed(unsafe String(cString: martlet_exchange_failure(exchange))) }
        let count = unsafe martlet_exchange_copy_body(exchange, nil, 0)
        let body = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = unsafe martlet_exchange_copy_body(exchange, buffer.baseAddress, buffer.count)
        }
        let seconds = unsafe martlet_date(martlet_exchange_date(exchange))
        let retryAfter = unsafe String(cString: martlet_exchange_retry_after(exchange))
        return .answered(
            S3Response(
                status: status, body: body, date: seconds > 0 ? UInt64(seconds) * 1000 : nil,
                retryAfter: RetryAfter.parse(retryAfter, now: EventLoop.wallClock)))
    }
}
