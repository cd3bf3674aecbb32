import MartletAuthentication
import MartletLink
import MartletWire

/// The account of a client and its proof of identity.
public struct Credentials: Sendable {
    let account: String
    let proof: LinkProof
    /// The number of bytes of a constant token; nil for other credentials.
    private var constantByteCount: Int?

    /// Returns credentials for an account with a token, such as a bearer token.
    ///
    /// The closure is called for each connection attempt, and again before the token of an established connection
    /// expires, so that the connection continues with a new token. Its task is cancelled when the attempt or the
    /// connection ends. If the closure throws, or the token exceeds 4096 bytes, the attempt fails and the next attempt
    /// calls the closure again; an established connection ends when its token expires.
    ///
    /// - Parameters:
    ///   - account: The name of the account.
    ///   - token: A closure that returns the token, of at most 4096 bytes of UTF-8.
    public static func account(
        _ account: String, token: @escaping @Sendable () async throws -> String
    ) -> Credentials {
        Credentials.account(account) { [UInt8](try await token().utf8) }
    }

    /// Returns credentials for an account with a credential of any format.
    ///
    /// The closure is called as in ``account(_:token:)``.
    ///
    /// - Parameters:
    ///   - account: The name of the account.
    ///   - credential: A closure that returns the credential, of at most 4096 bytes.
    public static func account(
        _ account: String, credential: @escaping @Sendable () async throws -> [UInt8]
    ) -> Credentials {
        Credentials(
            account: account,
            proof: .provider {
                let bytes = try await credential()
                guard let credential = Credential(bytes) else { throw CredentialTooLong(byteCount: bytes.count) }
                return credential
            })
    }

    /// Returns credentials for an account with a password.
    ///
    /// The relay does not receive the password. It receives a proof that is valid for one TLS connection, by
    /// SCRAM-SHA-256-PLUS (RFC 7677) with the channel binding `tls-exporter` (RFC 9266), and has to prove in turn that
    /// it knows the password's keys. If it does not, the client stops with `serverUnverified`. A connection without TLS
    /// requires ``Client/Configuration/allowsPlaintext``, even to this machine.
    ///
    /// - Parameters:
    ///   - account: The name of the account.
    ///   - password: The password, 1 to 1024 bytes of UTF-8 without control characters. Characters other than ASCII
    ///     have to be in the same Unicode form each time.
    public static func password(account: String, _ password: String) -> Credentials {
        Credentials(
            account: account,
            proof: .exchange { (nonce, binding) throws(SCRAMError) in
                try SCRAMClient(userName: account, password: password, nonce: nonce, channelBinding: binding)
            })
    }

    /// Returns credentials for an account with a constant token of at most 4096 bytes.
    public static func token(account: String, _ token: String) -> Credentials {
        var credentials = Credentials.account(account, token: { token })
        credentials.constantByteCount = token.utf8.count
        return credentials
    }

    /// Returns credentials for an account without a proof of identity, for a relay that requires none.
    public static func anonymous(_ account: String) -> Credentials {
        Credentials(account: account, proof: .none)
    }

    private init(account: String, proof: LinkProof) {
        self.account = account
        self.proof = proof
    }

    /// The fault of a constant proof; nil if there is none.
    var fault: String? {
        if hasInvalidPassword { return "the password is empty, too long, or contains a control character" }
        guard let constantByteCount, constantByteCount > Credential.maxByteCount else { return nil }
        return CredentialTooLong(byteCount: constantByteCount).description
    }

    /// Whether the proof is a password that SCRAM does not accept.
    private var hasInvalidPassword: Bool {
        guard case .exchange(let make) = proof else { return false }
        let nonce = [UInt8](repeating: 0, count: SCRAMLimits.nonceByteCount.lowerBound)
        return (try? make(nonce, .none)) == nil
    }

    var isPassword: Bool { if case .exchange = proof { true } else { false } }
}

/// A credential is too long. For the result of a closure, the status reports this error.
private struct CredentialTooLong: Error, CustomStringConvertible {
    let byteCount: Int

    var description: String { "the credential has \(byteCount) bytes; the limit is \(Credential.maxByteCount)" }
}
