import MartletWire

/// Who a client wants to be, and how it proves that.
public struct Credentials: Sendable {
    /// Gives the proof for one attempt to connect; nil when none is needed.
    typealias Provider = @Sendable () async throws -> Credential?

    let account: String
    let provider: Provider?

    /// An account with a token, such as a bearer token, of at most 4096 bytes.
    ///
    /// - Parameter token: called for every attempt to connect, so that a token is never stale; its task is cancelled
    ///   when the
    ///   attempt is over. When it throws, or the token is too long, the attempt fails and the next one asks again.
    public static func account(
        _ account: String, token: @escaping @Sendable () async throws -> String
    ) -> Credentials {
        Credentials.account(account) { [UInt8](try await token().utf8) }
    }

    /// An account with a proof of at most 4096 bytes, called for as a token is.
    public static func account(
        _ account: String, credential: @escaping @Sendable () async throws -> [UInt8]
    ) -> Credentials {
        Credentials(account: account) {
            let bytes = try await credential()
            guard let credential = Credential(bytes) else { throw CredentialTooLong(byteCount: bytes.count) }
            return credential
        }
    }

    /// An account with a token that never changes.
    public static func token(account: String, _ token: String) -> Credentials {
        Credentials.account(account, token: { token })
    }

    /// An account without a proof, for a relay that asks for none.
    public static func anonymous(_ account: String) -> Credentials {
        Credentials(account: account, provider: nil)
    }

    private init(account: String, provider: Provider?) {
        self.account = account
        self.provider = provider
    }
}

/// The provider's fault, told in the status.
private struct CredentialTooLong: Error, CustomStringConvertible {
    let byteCount: Int

    var description: String { "a credential of \(byteCount) bytes, \(Credential.maxByteCount) are allowed" }
}
