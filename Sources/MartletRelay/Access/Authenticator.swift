import MartletLink
import MartletWire

/// Determines the identity of a client.
///
/// A relay calls it for every connection, and for every renewal of a credential. After
/// `RelayConfiguration.authTimeout` the relay closes the connection and cancels the calling task.
public protocol Authenticator: Sendable {
    /// Determines the account that the client uses, usually the requested one, and its claims (C-26). The relay calls
    /// this method for a request without a mechanism, also without a credential, and ``exchange(for:)`` for any other.
    ///
    /// - Throws: `AuthenticationFailure` to refuse the client. Any other error is reported as
    ///   `RelayEvent.authenticatorFailed`, and the client receives `serverBusy`, because the error is not a fault of
    ///   the client.
    func authenticate(_ request: AuthenticationRequest) async throws -> Identity

    /// Begins an authentication exchange for a client that names a mechanism (C-68). The relay then calls
    /// ``AuthenticationExchange/step(_:)`` with the credential of the request.
    ///
    /// - Returns: The exchange, or nil, by default, if the authenticator supports no mechanisms.
    /// - Throws: `AuthenticationFailure` to refuse the mechanism; its reason should name those that are supported.
    func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)?
}

extension Authenticator {
    /// Returns nil.
    public func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? { nil }
}

/// An authentication that takes several messages of client and relay (RFC 4422).
public protocol AuthenticationExchange: Sendable {
    /// Processes the next message of the client.
    ///
    /// - Throws: `AuthenticationFailure` to refuse the client. Any other error is treated as one of
    ///   ``Authenticator/authenticate(_:)``.
    mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep
}

/// The result of a message of the client.
public enum AuthenticationStep: Equatable, Sendable {
    /// The client has to answer this message, of at most 4096 bytes. An exchange has at most four of them (C-69).
    case challenge([UInt8])
    /// The client has proved its identity. The message, of at most 4096 bytes, is the relay's last one, which the
    /// client receives with the acceptance.
    case accepted(Identity, final: [UInt8]?)
}

extension AuthenticationFailure {
    /// The client has no credential.
    static let missingCredential = AuthenticationFailure.unauthenticated(because: "the client has no credential")
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
