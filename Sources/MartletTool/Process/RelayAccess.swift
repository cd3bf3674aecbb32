import MartletAuthentication
import MartletLink
import MartletRelay
import MartletToolSupport
import MartletTransport
import MartletWire

/// The accounts and the room rules of a relay: the options of `serve`, and the files that they name.
///
/// The files can be read again while the relay runs. A file with an error then changes nothing.
final class RelayAccess: Sendable {
    private static let tokens = Option.text(
        "tokens", "FILE", help: "accept the accounts in FILE: an account and its token on each line"
    ).changing(.valueAtReload)
    private static let passwords = Option.text(
        "passwords", "FILE", help: "accept the accounts in FILE with their passwords; 'martlet user' changes it"
    ).changing(.valueAtReload)
    private static let keys = Option.text(
        "jwks", "FILE", help: "accept accounts with tokens that a key in FILE has signed (JWT, RFC 7519)"
    ).changing(.valueAtReload)
    private static let audience = Option.text(
        "audience", "NAME", help: "require this audience in signed tokens")
    private static let issuer = Option.text("issuer", "NAME", help: "require this issuer in signed tokens")
    private static let allowAll = Option.flag("allow-all", help: "accept every account without a credential")
    private static let revoked = Option.text(
        "revoked", "FILE",
        help: """
            refuse the accounts in FILE, one on each line, in quotation marks if it begins with #, regardless of their \
            credentials
            """
    ).changing(.atReload)
    private static let rooms = Option.text(
        "rooms", "FILE", help: "rules that decide which account may enter which room [all rooms]"
    ).changing(.valueAtReload)

    static let specs = [
        tokens.spec, passwords.spec, keys.spec, audience.spec, issuer.spec, allowAll.spec, revoked.spec, rooms.spec,
    ]

    static let notes = [
        """
        Exactly one of --tokens, --passwords, --jwks and --allow-all is required, unless --client-ca is given. The \
        keys of --jwks are a JSON \
        Web Key Set with keys for RS256, ES256, EdDSA or HS256; the subject of a token is its account, and a \
        connection ends when its token expires, unless the client renews it. The signal HUP reads the files of \
        --tokens, --passwords, --jwks, --revoked and --rooms again; accounts whose tokens or passwords have changed, \
        and those that --revoked contains, are disconnected within a second, and the rules are applied to open rooms \
        again.
        """,
        """
        With --passwords clients prove their passwords without sending them (SCRAM-SHA-256-PLUS), which requires TLS. \
        --plaintext also accepts SCRAM-SHA-256 without TLS.
        """,
        """
        The account of a client certificate is its first e-mail address, otherwise its first URI, otherwise its \
        common name. A connection ends when its certificate expires. --client-ca may be combined with --tokens, \
        --passwords or --jwks, for clients without a certificate.
        """,
        """
        A line of --rooms is "allow PERMISSIONS in PATTERN to ACCOUNTS" or "deny in PATTERN to ACCOUNTS"; the first \
        line that matches decides; if no line matches, the account is refused. PERMISSIONS are publish, history, \
        request, create and administer, separated by commas, or all (every permission but administer), or none. In \
        PATTERN, * matches any text and {account} the account. \
        "allow administer in martlet.administration to ACCOUNTS" permits 'martlet admin'; a pattern with * \
        or {account} does not include this room. \
        ACCOUNTS are "everyone", "account NAME", "role NAME" or "claim NAME=VALUE". A name with blanks is in double \
        quotes, with \\" and \\\\ for a quote and a backslash in it.
        """,
    ]

    private indirect enum Source {
        case everyone
        /// The fallback is for clients without a certificate.
        case certificates(fallback: Source?)
        case tokens(path: String)
        case passwords(path: String, allowsPlaintext: Bool)
        case keys(path: String, audience: String, issuer: String?)
    }

    /// The authenticator of the last reading, and the secret with which it verifies each account.
    fileprivate struct Accounts {
        var authenticator: any Authenticator
        var secrets: [AccountName: Credential] = [:]
        var revoked = RevokedAccounts()
    }

    private let hasRules: Bool
    private let accounts: Guarded<Accounts>
    private let rules: Guarded<RoomRules?>

    /// Reads the files.
    init(_ arguments: ParsedArguments) throws {
        let contents = try Self.read(arguments)
        hasRules = contents.rules != nil
        accounts = Guarded(contents.accounts)
        rules = Guarded(contents.rules)
    }

    private static func source(_ arguments: ParsedArguments) throws(UsageError) -> Source {
        for option in [audience, issuer] where arguments[option] != nil && arguments[keys] == nil {
            throw UsageError(message: "'--\(option.spec.name)' requires '--jwks'")
        }
        guard TLSArguments.acceptsClientCertificates(arguments) else {
            guard !TLSArguments.requiresClientCertificates(arguments) else {
                throw UsageError(message: "'--require-client-certificate' requires '--client-ca'")
            }
            return try credentials(arguments)
        }
        let isAlone =
            arguments[tokens] == nil && arguments[passwords] == nil && arguments[keys] == nil
            && !arguments.has(allowAll)
        guard isAlone || !(arguments.has(allowAll) || TLSArguments.requiresClientCertificates(arguments)) else {
            throw UsageError(
                message: "'--client-ca' excludes '--allow-all'; with '--require-client-certificate' it also excludes "
                    + "'--tokens', '--passwords' and '--jwks'")
        }
        return .certificates(fallback: isAlone ? nil : try credentials(arguments))
    }

    private static func credentials(_ arguments: ParsedArguments) throws(UsageError) -> Source {
        switch (arguments[tokens], arguments[passwords], arguments[keys], arguments.has(allowAll)) {
        case (let path?, nil, nil, false): return .tokens(path: path)
        case (nil, let path?, nil, false):
            return .passwords(path: path, allowsPlaintext: TLSArguments.allowsPlaintext(arguments))
        case (nil, nil, let path?, false):
            guard let name = arguments[audience] else { throw UsageError(message: "'--jwks' requires '--audience'") }
            return .keys(path: path, audience: name, issuer: arguments[issuer])
        case (nil, nil, nil, true): return .everyone
        default:
            throw UsageError(
                message: "exactly one of '--tokens FILE', '--passwords FILE', '--jwks FILE' and '--allow-all' is "
                    + "required, unless '--client-ca FILE' is given")
        }
    }

    private static func read(_ source: Source, _ revokedPath: String?) throws(CommandError) -> Accounts {
        var accounts = try read(source)
        if let revokedPath { accounts.revoked = try RevokedAccounts(path: revokedPath) }
        return accounts
    }

    private static func read(_ source: Source) throws(CommandError) -> Accounts {
        switch source {
        case .everyone: return Accounts(authenticator: .allowAll)
        case .certificates(let fallback):
            var accounts: Accounts?
            if let fallback { accounts = try read(fallback) }
            return Accounts(
                authenticator: CertificateAuthenticator(fallback: accounts?.authenticator),
                secrets: accounts?.secrets ?? [:])
        case .tokens(let path):
            let tokens = try TokensFile.read(path)
            return Accounts(authenticator: TokenAuthenticator(tokens), secrets: tokens)
        case .passwords(let path, let allowsPlaintext):
            let file = try PasswordFile.read(path)
            var secrets: [AccountName: Credential] = [:]
            for name in file.names {
                guard let account = AccountName(name), let record = file.record(of: name) else {
                    throw CommandError(.noInput, "\(path): \"\(SafeText.line(name))\" is not a valid account name")
                }
                secrets[account] = Credential(record.text)
            }
            if secrets.isEmpty { throw CommandError(.noInput, "\(path): the file contains no account") }
            let authenticator = SCRAMAuthenticator(passwordFile: file, allowsPlaintext: allowsPlaintext)
            return Accounts(authenticator: authenticator, secrets: secrets)
        case .keys(let path, let audience, let issuer):
            do {
                let keys = try JSONWebKeySet(try bytes(of: path, "keys"))
                let verifier = TokenVerifier(keys: keys, audience: audience, issuer: issuer)
                return Accounts(authenticator: SignedTokenAuthenticator(verifier))
            } catch let error as JSONWebKeySetError {
                throw CommandError(.noInput, "\(path): \(error)")
            } catch {
                throw error as? CommandError ?? CommandError(.noInput, "\(path): \(error)")
            }
        }
    }

    private static func readRules(_ path: String) throws(CommandError) -> RoomRules {
        let bytes = try bytes(of: path, "rules")
        let rules: RoomRules
        do { rules = try RoomRules(parsing: bytes) } catch {
            throw CommandError(.noInput, "\(path):\(error.line): \(error.fault)")
        }
        // A file that was truncated would refuse everybody.
        guard !rules.isEmpty else { throw CommandError(.noInput, "\(path): the file contains no rule") }
        return rules
    }

    private static func bytes(of path: String, _ what: String) throws(CommandError) -> [UInt8] {
        try InputFile.read(path, "the \(what)")
    }

    // MARK: Decisions

    /// An authenticator with the accounts of the last reading.
    struct CurrentAuthenticator: Authenticator {
        fileprivate let access: RelayAccess

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            let identity = try await access.accounts.withLock(\.authenticator).authenticate(request)
            return try access.accounts.withLock(\.revoked).admit(identity)
        }

        func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? {
            try access.accounts.withLock(\.authenticator).exchange(for: request).map { exchange in
                RevocableExchange(exchange: exchange) { [access] in access.accounts.withLock(\.revoked) }
            }
        }
    }

    /// A policy with the rules of the last reading.
    struct CurrentPolicy: ImmediateRoomPolicy {
        fileprivate let access: RelayAccess

        func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
            access.rules.withLock { $0 }?.immediateDecision(on: request) ?? .granted(.all)
        }
    }

    var authenticator: any Authenticator { CurrentAuthenticator(access: self) }
    var policy: any RoomPolicy { hasRules ? CurrentPolicy(access: self) : AllowAllRooms() }

    // MARK: Reading again

    /// The contents of all files, which are not applied.
    struct Contents {
        fileprivate let accounts: Accounts
        fileprivate let rules: RoomRules?
    }

    /// Reads the files.
    static func read(_ arguments: ParsedArguments) throws -> Contents {
        let accounts = try read(source(arguments), arguments[revoked])
        return Contents(accounts: accounts, rules: try arguments[rooms].map { try readRules($0) })
    }

    /// Applies the contents of the files to a running relay.
    func apply(_ contents: Contents, to relay: Relay) async {
        let (next, nextRules) = (contents.accounts, contents.rules)
        let earlier = accounts.withLock { accounts in
            defer { accounts = next }
            return accounts
        }
        rules.withLock { $0 = nextRules }
        let changed = earlier.secrets.filter { next.secrets[$0.key] != $0.value }.map(\.key)
        let added = next.revoked.names.subtracting(earlier.revoked.names)
        for account in added.union(changed) { await relay.revoke(account) }
        if nextRules != nil { await relay.revokeRoomDecisions() }
    }
}
