public import MartletWire

/// The reason for a refusal, and the notice that the client receives (C-27).
public struct AuthenticationFailure: Error, Equatable, Sendable {
    /// The notice sent to the client.
    public var notice: Notice
    /// The cause for the logs of the server, without the credential; nil if the notice is sufficient. The cause is not
    /// sent to the client.
    public var cause: String?

    /// Creates a refusal with this notice.
    public init(_ notice: Notice, cause: String? = nil) {
        self.notice = notice
        self.cause = cause
    }

    /// The credential is not valid.
    public static let unauthenticated = AuthenticationFailure(Notice(code: .unauthenticated))
    /// The credential is not valid. The cause is written to the log of the server and not sent to the client.
    public static func unauthenticated(because cause: String) -> AuthenticationFailure {
        AuthenticationFailure(Notice(code: .unauthenticated), cause: cause)
    }

    /// The account may not use this server.
    public static let forbidden = AuthenticationFailure(Notice(code: .forbidden))

    /// Another server is responsible. `endpoint` is its address, of 1 to 512 bytes.
    public static func redirected(to endpoint: String) -> AuthenticationFailure {
        AuthenticationFailure(Notice(code: .redirected, redirect: endpoint))
    }
}
