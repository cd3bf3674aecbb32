/// An error of a webhook.
public enum WebhookError: Error, Equatable, Sendable {
    /// The text is not an address of the form `https://host/path`, without a user, a password and a fragment.
    case invalidURL(String)
    /// The address begins with `http` and its host is not `localhost` or a loopback address.
    case plaintextNotAllowed(host: String)
    /// The secret has fewer than ``Webhook/Configuration/minSecretByteCount`` bytes.
    case shortSecret
    /// The gateway refused the request with this status. The request was not repeated.
    case refused(status: Int)
    /// The gateway accepted none of the attempts. The status is nil if the last attempt had no response.
    case gaveUp(attemptCount: Int, status: Int?)
}

extension WebhookError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .invalidURL(let text): "\"\(text)\" is not an address of the form https://host/path"
        case .plaintextNotAllowed(let host): "\(host) requires https: http is for loopback addresses only"
        case .shortSecret: "the secret has fewer than \(Webhook.Configuration.minSecretByteCount) bytes"
        case .refused(let status): "the gateway refused the request with status \(status)"
        case .gaveUp(let count, let status):
            "\(count) attempts failed, the last one with \(status.map { "status \($0)" } ?? "no answer")"
        }
    }
}
