import Foundation
import MartletTransport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The HTTP requests of a webhook.
///
/// A request ends with the head of its response; the body is not read. Redirects are not followed, because they can
/// lead to hosts that the operator has not named.
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | in progress | a continuation | the head of the response, an error, the cancellation of the task |
final class WebhookSession: Sendable {
    private let exchanges = Exchanges()
    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit {
        // The session retains its delegate until it is invalidated.
        session.invalidateAndCancel()
    }

    /// Performs a request.
    func perform(_ request: URLRequest) async -> WebhookRetry.Outcome {
        let task = session.dataTask(with: request)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchanges.begin(task, continuation)
                guard !Task.isCancelled else { return exchanges.end(task, .failed) }
                task.resume()
            }
        } onCancel: {
            exchanges.end(task, .failed)
            task.cancel()
        }
    }
}

/// The requests in progress, by the numbers of their tasks.
private final class Exchanges: NSObject, URLSessionDataDelegate {
    private let waiting = Guarded<[Int: CheckedContinuation<WebhookRetry.Outcome, Never>]>([:])

    func begin(_ task: URLSessionTask, _ continuation: CheckedContinuation<WebhookRetry.Outcome, Never>) {
        waiting.withLock { $0[task.taskIdentifier] = continuation }
    }

    /// Resumes the request, unless it has ended.
    func end(_ task: URLSessionTask, _ outcome: WebhookRetry.Outcome) {
        waiting.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.resume(returning: outcome)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        end(dataTask, outcome(response))
        completionHandler(.cancel)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        end(task, outcome(response))
        completionHandler(nil)
        task.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task, error == nil ? task.response.map(outcome) ?? .failed : .failed)
    }

    private func outcome(_ response: URLResponse) -> WebhookRetry.Outcome {
        guard let response = response as? HTTPURLResponse else { return .failed }
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After")
        return .answered(
            status: response.statusCode, retryAfter: retryAfter.flatMap { RetryAfter.parse($0, now: Date()) })
    }
}
