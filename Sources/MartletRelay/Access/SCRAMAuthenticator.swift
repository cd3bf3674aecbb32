public import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// Authenticates accounts by passwords, without receiving them: SCRAM-SHA-256-PLUS (RFC 7677) with the channel binding
/// `tls-exporter` (RFC 9266).
///
/// An attacker between client and relay, with a TLS connection to each, cannot forward the exchange. Accounts without a
/// record are answered like others, and refused at the end.
public final class SCRAMAuthenticator: Authenticator {
    private static let bound = "SCRAM-SHA-256-PLUS"
    private static let unbound = "SCRAM-SHA-256"
    /// The number of random bytes of a nonce.
    private static let nonceByteCount = 24

    private let passwordFile: PasswordFile
    private let unknownUsers: UnknownUserRecords
    private let allowsPlaintext: Bool

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - passwordFile: The accounts and their records. If the file has no secret for unknown users, the authenticator
    ///     generates one. The challenges for unknown users then differ between authenticators, and those for known
    ///     users do not.
    ///   - allowsPlaintext: Whether connections without TLS can use SCRAM-SHA-256. Then anybody on the network path can
    ///     take over the connection after the exchange.
    public init(passwordFile: PasswordFile, allowsPlaintext: Bool = false) {
        self.passwordFile = passwordFile
        self.allowsPlaintext = allowsPlaintext
        let secret = passwordFile.unknownUserSecret ?? RandomBytes.make(byteCount: SCRAMLimits.minSecretByteCount)
        guard let records = try? UnknownUserRecords(secret: secret, iterations: passwordFile.iterations) else {
            preconditionFailure("the file and the random source have valid secrets and iterations")
        }
        unknownUsers = records
    }

    /// Refuses a client without a mechanism. The reason names the mechanisms of the relay.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated`.
    public func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        throw refusal(of: request)
    }

    /// Begins the exchange of a mechanism that the connection supports.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated` and the names of these mechanisms.
    public func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? {
        let binding: SCRAMServer.BindingPolicy
        switch (request.mechanism?.text, request.hasTLS, request.channelBinding) {
        case (Self.bound, true, let exporter?): binding = .required(exporter: exporter)
        case (Self.unbound, false, _) where allowsPlaintext: binding = .none
        default: throw refusal(of: request)
        }
        let nonce = RandomBytes.make(byteCount: Self.nonceByteCount)
        return SCRAMExchange(
            account: request.account, passwordFile: passwordFile,
            machine: try SCRAMServer(nonce: nonce, binding: binding, unknownUsers: unknownUsers))
    }

    private func refusal(of request: AuthenticationRequest) -> AuthenticationFailure {
        // A request without a mechanism has no channel binding, which TLS connections usually have.
        let isBound = request.mechanism == nil || request.channelBinding != nil
        let reason =
            switch (request.hasTLS, isBound) {
            case (true, true): "the mechanism is \(Self.bound)"
            case (true, false): "a password requires a TLS connection with a channel binding"
            case (false, _): allowsPlaintext ? "the mechanism is \(Self.unbound)" : "a password requires TLS"
            }
        return AuthenticationFailure(Notice(code: .unauthenticated, reason: reason))
    }
}

/// The relay's side of one exchange. Every fault, and a wrong proof, is the same refusal (RFC 5802 §7), with its cause
/// for the logs.
private struct SCRAMExchange: AuthenticationExchange {
    let account: AccountName
    let passwordFile: PasswordFile
    var machine: SCRAMServer
    var isChallenged = false

    mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep {
        do {
            guard !isChallenged else {
                return .accepted(Identity(account), final: try machine.receive(clientFinal: message))
            }
            isChallenged = true
            let name = try machine.receive(clientFirst: message)
            guard name.utf8.elementsEqual(account.text.utf8) else {
                throw AuthenticationFailure.unauthenticated(because: "the exchange is for another account")
            }
            return .challenge(try machine.challenge(with: passwordFile.record(of: name)))
        } catch let error as SCRAMError {
            throw AuthenticationFailure.unauthenticated(because: cause(of: error))
        }
    }

    private func cause(of error: SCRAMError) -> String {
        switch error {
        case .invalidProof:
            passwordFile.record(of: account.text) == nil ? "the account has no password" : "the password is wrong"
        case .channelBindingMismatch, .channelBindingRequired, .channelBindingDowngrade, .unsupportedChannelBinding:
            "the exchange is not bound to the connection"
        case .nonceMismatch: "the nonce is not that of the exchange"
        default: "a message of the exchange is not valid"
        }
    }
}
