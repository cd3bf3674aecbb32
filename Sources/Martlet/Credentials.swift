import MartletWire

/// The account of a client and its proof of identity.
public struct Credentials: Sendable {
    /// Returns the credential for one connection attempt; nil if the account needs none.
    typealias Provider = @Sendable () async throws -> Credential?

    let account: String
    let provider: Provider?

    /// Returns credentials for an account with a token, such as a bearer token.
    ///
    /// The closure is called for each connection attempt, so that the application can renew the token. Its task is
    /// cancelled when the attempt ends. If the closure throws, or the token exceeds 4096 bytes, the attempt fails and
    /// the next attempt calls the closure again.
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
        Credentials(account: account) {
            let bytes = try await credential()
            guard let credential = Credential(bytes) else { throw CredentialTooLong(byteCount: bytes.count) }
            return credential
        }
    }

    /// Returns credentials for an account with a constant token of at most 4096 bytes.
    public static func token(account: String, _ token: String) -> Credentials {
        Credentials.account(account, token: { token })
    }

    /// Returns credentials for an account without a proof of identity, for a relay that requires none.
    public static func anonymous(_ account: String) -> Credentials {
        Credentials(account: account, provider: nil)
    }

    private init(account: String, provider: Provider?) {
        self.account = account
        self.provider = provider
    }
}

/// The closure returned a credential that is too long. The status reports this error.
private struct CredentialTooLong: Error, CustomStringConvertible {
    let byteCount: Int

    var description: String { "the credential has \(byteCount) bytes; the limit is \(Credential.maxByteCount)" }
}
