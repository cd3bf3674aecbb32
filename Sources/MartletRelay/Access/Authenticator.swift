public import MartletProtocol
public import MartletWire

/// Decides who a client is.
///
/// Called for every connection, so it may take its time but not for ever: after `RelayConfiguration.authTimeout` the
/// connection is closed and the task that asks is cancelled.
public protocol Authenticator: Sendable {
    /// The account that a client may act as; often the one it asks for (C-26).
    ///
    /// Throws `AuthenticationFailure` to turn it away. Any other error is reported as `RelayEvent.authenticatorFailed`
    /// and told to the client as `serverBusy`, since it is not the client's fault.
    func authenticate(_ request: AuthenticationRequest) async throws -> AccountName
}

/// Why a client is turned away, and what it may do next (C-27).
public struct AuthenticationFailure: Error, Equatable, Sendable {
    /// What is said to the client.
    public var notice: Notice

    /// Turns a client away with these words.
    public init(_ notice: Notice) {
        self.notice = notice
    }

    /// The credential is not accepted.
    public static let unauthenticated = AuthenticationFailure(Notice(code: .unauthenticated))
    /// The account may not use this relay.
    public static let forbidden = AuthenticationFailure(Notice(code: .forbidden))

    /// Another relay is responsible; `endpoint` has 1 to 512 bytes.
    public static func redirected(to endpoint: String) -> AuthenticationFailure {
        AuthenticationFailure(Notice(code: .redirected, redirect: endpoint))
    }
}

/// Believes everybody: for trying things out, and for networks where somebody else has checked already.
public struct AllowAllAuthenticator: Authenticator {
    /// Believes everybody.
    public init() {}

    /// The account that was asked for.
    public func authenticate(_ request: AuthenticationRequest) async -> AccountName {
        request.account
    }
}

extension Authenticator where Self == AllowAllAuthenticator {
    /// Believes everybody.
    public static var allowAll: AllowAllAuthenticator { AllowAllAuthenticator() }
}
