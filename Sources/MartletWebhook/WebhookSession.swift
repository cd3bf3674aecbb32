import CMartletHTTP
import Dispatch
import MartletTransport

/// A POST request of a webhook.
package struct WebhookRequest: Sendable {
    let url: String
    /// The header fields, `Name: value`.
    let fields: [String]
    let body: [UInt8]
    /// The maximum duration of the request, name resolution included.
    let timeout: Duration

    /// Creates a request.
    package init(url: String, fields: [String], body: [UInt8], timeout: Duration) {
        self.url = url
        self.fields = fields
        self.body = body
        self.timeout = timeout
    }
}

/// The HTTP requests of a webhook, by libcurl.
///
/// A request ends with the head of its response; the body is not read. Redirects are not followed, because they can
/// lead to hosts that the operator has not configured. Each request occupies a thread.
package struct WebhookSession: Sendable {
    private let queue = DispatchQueue(label: "martlet-webhook", attributes: .concurrent)

    /// Creates a session without requests.
    package init() {}

    /// Performs a request. A cancellation of the calling task ends it within a second.
    package func perform(_ request: WebhookRequest) async -> WebhookRetry.Outcome {
        guard let post = Post(request) else { return .failed }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: post.perform()) }
            }
        } onCancel: {
            post.cancel()
        }
    }
}

/// A request of libcurl. One thread performs it, and any thread cancels it.
@safe
private final class Post: @unchecked Sendable {
    private let post: OpaquePointer

    /// Creates a request; nil if no memory is available.
    init?(_ request: WebhookRequest) {
        let timeout = Int(max(min(request.timeout, .seconds(86_400)) / .milliseconds(1), 1))
        let created = unsafe request.body.withUnsafeBytes { body in
            unsafe body.baseAddress.flatMap { unsafe martlet_post_create(request.url, $0, body.count, timeout) }
        }
        guard let post = unsafe created else { return nil }
        unsafe self.post = post
        for field in request.fields where unsafe martlet_post_add_field(post, field) == 0 { return nil }
    }

    deinit {
        unsafe martlet_post_destroy(post)
    }

    func perform() -> WebhookRetry.Outcome {
        let status = unsafe martlet_post_perform(post)
        guard status > 0 else { return .failed }
        let retryAfter = unsafe String(cString: martlet_post_retry_after(post))
        return .answered(status: status, retryAfter: RetryAfter.parse(retryAfter, now: EventLoop.wallClock))
    }

    func cancel() { unsafe martlet_post_cancel(post) }
}
