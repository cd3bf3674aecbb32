public import MartletProtocol
public import MartletWire

/// Determines the identity of a client.
///
/// A relay calls it for every connection. After `RelayConfiguration.authTimeout` the relay closes the connection and
/// cancels the calling task.
public protocol Authenticator: Sendable {
    /// Determines the account that the client uses, usually the requested one, and its claims (C-26).
    ///
    /// - Throws: `AuthenticationFailure` to refuse the client. Any other error is reported as
    ///   `RelayEvent.authenticatorFailed`, and the client receives `serverBusy`, because the error is not a fault of
    ///   the client.
    func authenticate(_ request: AuthenticationRequest) async throws -> Identity
}

/// The reason for a refusal, and the notice that the client receives (C-27).
public struct AuthenticationFailure: Error, Equatable, Sendable {
    /// The notice sent to the client.
    public var notice: Notice

    /// Creates a refusal with this notice.
    public init(_ notice: Notice) {
        self.notice = notice
    }

    /// The credential is not valid.
    public static let unauthenticated = AuthenticationFailure(Notice(code: .unauthenticated))
    /// The account may not use this relay.
    public static let forbidden = AuthenticationFailure(Notice(code: .forbidden))

    /// Another relay is responsible. `endpoint` is its address, of 1 to 512 bytes.
    public static func redirected(to endpoint: String) -> AuthenticationFailure {
        AuthenticationFailure(Notice(code: .redirected, redirect: endpoint))
    }
}

/// Accepts every client as the requested account, for experiments and for networks with their own authentication.
public struct AllowAllAuthenticator: Authenticator {
    /// Creates the authenticator.
    public init() {}

    /// Returns the requested account.
    public func authenticate(_ request: AuthenticationRequest) async -> Identity {
        Identity(request.account)
    }
}

extension Authenticator where Self == AllowAllAuthenticator {
    /// An authenticator that accepts every client.
    public static var allowAll: AllowAllAuthenticator { AllowAllAuthenticator() }
}
