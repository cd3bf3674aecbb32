import Foundation
import MartletAuthentication
import MartletLink
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

/// Access to a relay by the options of `serve` and the files that they name.
@Suite struct RelayAccessTests {
    private func access(_ words: [String]) throws -> RelayAccess { try RelayAccess(arguments(words)) }

    private func contents(_ words: [String]) throws -> RelayAccess.Contents { try RelayAccess.read(arguments(words)) }

    private func arguments(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    /// A folder of files, which is removed at its end.
    private final class Files {
        private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

        init() throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        deinit {
            try? FileManager.default.removeItem(at: folder)
        }

        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

        /// Writes a file and returns its path.
        @discardableResult
        func write(_ text: String, to name: String) throws -> String {
            try text.write(toFile: path(name), atomically: true, encoding: .utf8)
            return path(name)
        }
    }

    private func request(_ account: String, _ token: String?) throws -> AuthenticationRequest {
        AuthenticationRequest(
            account: try #require(AccountName(account)), device: DeviceID(rawValue: 1),
            credential: token.flatMap { Credential($0) })
    }

    private func isAccepted(_ account: String, _ token: String?, by access: RelayAccess) async throws -> Bool {
        let request = try request(account, token)
        return (try? await access.authenticator.authenticate(request)) != nil
    }

    private func decision(_ room: String, _ account: String, by access: RelayAccess) async throws -> RoomDecision {
        let identity = Identity(try #require(AccountName(account)))
        return try await access.policy.decision(
            on: RoomAuthorizationRequest(
                identity: identity, device: DeviceID(rawValue: 1), room: try #require(RoomName(room))))
    }

    @Test(arguments: [
        [], ["--tokens", "a", "--allow-all"], ["--jwks", "a", "--allow-all"], ["--jwks", "a", "--tokens", "b"],
        ["--jwks", "a"], ["--passwords", "a", "--tokens", "b"], ["--passwords", "a", "--allow-all"],
        ["--client-ca", "a", "--allow-all"], ["--require-client-certificate", "--allow-all"],
        ["--client-ca", "a", "--require-client-certificate", "--tokens", "b"],
        ["--client-ca", "a", "--require-client-certificate", "--passwords", "b"],
    ])
    func `none or two kinds of accounts, and keys without an audience, are usage errors`(_ words: [String]) {
        #expect(throws: UsageError.self) { try access(words) }
    }

    @Test func `a missing file and an invalid line are errors that name the file`() throws {
        let files = try Files()
        let rules = try files.write("allow everything", to: "rules")
        let message =
            "\"everything\" is not a permission: publish, history, request, create and administer, "
            + "or all or none alone"
        #expect(throws: CommandError(.noInput, "\(rules):1: \(message)")) {
            try access(["--allow-all", "--rooms", rules])
        }
        let keys = try files.write("{}", to: "keys")
        #expect(throws: CommandError.self) { try access(["--jwks", keys, "--audience", "martlet"]) }
        #expect(throws: CommandError.self) { try access(["--jwks", files.path("none"), "--audience", "martlet"]) }
    }

    /// The last step of an exchange with a password, without TLS.
    private func isAccepted(password: String, of account: String, by access: RelayAccess) async throws -> Bool {
        var client = try SCRAMClient(
            userName: account, password: password, nonce: [UInt8](repeating: 1, count: 18), channelBinding: .none)
        let request = AuthenticationRequest(
            account: try #require(AccountName(account)), device: DeviceID(rawValue: 1),
            mechanism: MechanismName("SCRAM-SHA-256"))
        var exchange = try #require(try access.authenticator.exchange(for: request))
        guard case .challenge(let challenge) = try await exchange.step(client.start()) else { return false }
        let answer = try client.receive(serverFirst: challenge)
        return (try? await exchange.step(answer)) != nil
    }

    private func passwords(_ users: [String: String], to path: String) throws {
        var file = PasswordFile()
        for (name, password) in users {
            let salt = [UInt8](repeating: 2, count: 16)
            try file.add(name, SCRAMRecord(password: password, salt: salt, iterations: 4096))
        }
        try file.write(path)
    }

    // C-28, C-68
    @Test func `a password file -> its accounts, and after another reading the changed ones`() async throws {
        let files = try Files()
        let path = files.path("passwords")
        try passwords(["ada": "one", "bob": "two"], to: path)
        let access = try access(["--passwords", path, "--plaintext"])
        #expect(try await isAccepted(password: "one", of: "ada", by: access))
        #expect(try await !isAccepted(password: "two", of: "ada", by: access))
        #expect(try await !isAccepted("ada", "one", by: access))
        try passwords(["ada": "three"], to: path)
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(),
            authenticator: access.authenticator, policy: access.policy)
        await access.apply(try contents(["--passwords", path, "--plaintext"]), to: relay)
        #expect(try await isAccepted(password: "three", of: "ada", by: access))
        #expect(try await !isAccepted(password: "two", of: "bob", by: access))
    }

    @Test func `a password file without an account -> an error, and another reading changes nothing`() async throws {
        let files = try Files()
        let path = files.path("passwords")
        try passwords(["ada": "one"], to: path)
        let access = try access(["--passwords", path, "--plaintext"])
        try files.write("# nobody\n", to: "passwords")
        let error = CommandError(.noInput, "\(path): the file contains no account")
        #expect(throws: error) { try self.access(["--passwords", path]) }
        #expect(throws: error) { try contents(["--passwords", path, "--plaintext"]) }
        #expect("\(error)" == "\(path): the file contains no account")
        #expect(try await isAccepted(password: "one", of: "ada", by: access))
    }

    // C-68
    @Test func `a password file without --plaintext -> no exchange without TLS`() async throws {
        let files = try Files()
        try passwords(["ada": "one"], to: files.path("passwords"))
        let access = try access(["--passwords", files.path("passwords")])
        await #expect(throws: AuthenticationFailure.self) {
            try await isAccepted(password: "one", of: "ada", by: access)
        }
    }

    @Test func `without rules every room is open, and with rules those of the file`() async throws {
        let files = try Files()
        let open = try access(["--allow-all"])
        #expect(open.policy is AllowAllRooms)
        let rules = try files.write("allow publish in lobby to account ada\n", to: "rules")
        let ruled = try access(["--allow-all", "--rooms", rules])
        #expect(try await decision("lobby", "ada", by: ruled) == .granted(.publish))
        #expect(try await decision("lobby", "bob", by: ruled) == .refused)
    }

    // C-73
    @Test func `client certificates are accepted alone, and beside tokens for clients without one`() async throws {
        let files = try Files()
        let tokens = try files.write("bob two\n", to: "tokens")
        var certified = try request("ada", nil)
        certified.certificate = PeerCertificate(commonName: "ada", notAfter: .max / 1000)
        for words in [["--client-ca", "ca.pem"], ["--client-ca", "ca.pem", "--tokens", tokens]] {
            let access = try access(words)
            #expect(try await access.authenticator.authenticate(certified).account.text == "ada")
            #expect(try await !isAccepted("ada", nil, by: access))
            #expect(try await isAccepted("bob", "two", by: access) == words.contains("--tokens"))
        }
    }

    @Test(arguments: ["", "\n", "# allow all in * to everyone\n"])
    func `a file of rules without a rule -> an error, and another reading changes nothing`(_ text: String) async throws
    {
        let files = try Files()
        let rules = try files.write("allow all in lobby to everyone\n", to: "rules")
        let access = try access(["--allow-all", "--rooms", rules])
        try files.write(text, to: "rules")
        let error = CommandError(.noInput, "\(rules): the file contains no rule")
        #expect(throws: error) { try contents(["--allow-all", "--rooms", rules]) }
        #expect(throws: error) { try self.access(["--allow-all", "--rooms", rules]) }
        #expect(try await decision("lobby", "ada", by: access) == .granted(.all))
    }

    @Test func `files that are read again replace accounts and rules, and an invalid one changes nothing`()
        async throws
    {
        let files = try Files()
        let tokens = try files.write("ada one\nbob two\n", to: "tokens")
        let rules = try files.write("allow all in lobby to everyone\n", to: "rules")
        let access = try access(["--tokens", tokens, "--rooms", rules])
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(),
            authenticator: access.authenticator, policy: access.policy)
        #expect(try await isAccepted("ada", "one", by: access))
        try files.write("ada three\n", to: "tokens")
        try files.write("deny in lobby to everyone\n", to: "rules")
        await access.apply(try contents(["--tokens", tokens, "--rooms", rules]), to: relay)
        #expect(try await !isAccepted("ada", "one", by: access))
        #expect(try await isAccepted("ada", "three", by: access))
        #expect(try await !isAccepted("bob", "two", by: access))
        #expect(try await decision("lobby", "ada", by: access) == .refused)
        try files.write("nonsense", to: "rules")
        try files.write("ada four\n", to: "tokens")
        #expect(throws: CommandError.self) { try contents(["--tokens", tokens, "--rooms", rules]) }
        #expect(try await isAccepted("ada", "three", by: access))
        #expect(try await decision("lobby", "ada", by: access) == .refused)
    }

    // C-28
    @Test func `a revoked account -> refused with every kind of credential, until the file no longer contains it`()
        async throws
    {
        let files = try Files()
        let list = try files.write("ada\n", to: "revoked")
        let tokens = try files.write("ada one\nbob two\n", to: "tokens")
        try passwords(["ada": "one", "bob": "two"], to: files.path("passwords"))
        var certified = try request("ada", nil)
        certified.certificate = PeerCertificate(commonName: "ada", notAfter: .max / 1000)
        for words in [
            ["--allow-all"], ["--tokens", tokens], ["--client-ca", "ca.pem"],
            ["--passwords", files.path("passwords"), "--plaintext"],
        ] {
            try files.write("ada\n", to: "revoked")
            let access = try access(words + ["--revoked", list])
            let relay = Relay(
                configuration: try Relay.Configuration(port: 0), store: InMemoryStore(),
                authenticator: access.authenticator, policy: access.policy)
            func isAdmitted(_ account: String, _ secret: String) async throws -> Bool {
                if words.contains("--passwords") {
                    return try await isAccepted(password: secret, of: account, by: access)
                }
                guard words.contains("--client-ca") else {
                    return try await isAccepted(account, secret, by: access)
                }
                certified.account = try #require(AccountName(account))
                certified.certificate?.commonName = account
                return (try? await access.authenticator.authenticate(certified)) != nil
            }
            #expect(try await isAdmitted("bob", "two"), "\(words)")
            let failure = try? await isAdmitted("ada", "one")
            #expect(failure != true, "\(words)")
            try files.write("# nobody\n", to: "revoked")
            await access.apply(try contents(words + ["--revoked", list]), to: relay)
            #expect(try await isAdmitted("ada", "one"), "\(words)")
        }
    }

    // C-28
    @Test func `accounts that are added to the revoked ones -> revoked at the relay, each once`() async throws {
        let files = try Files()
        let list = try files.write("carol\n", to: "revoked")
        let access = try access(["--allow-all", "--revoked", list])
        let events = Guarded<[String]>([])
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(),
            authenticator: access.authenticator, policy: access.policy
        ) { event in
            if case .revoked(let account) = event { events.withLock { $0.append(account.text) } }
        }
        _ = try relay.start()
        for accounts in ["carol\nada\n", "carol\nada\n", "ada\nbob\n"] {
            try files.write(accounts, to: "revoked")
            await access.apply(try contents(["--allow-all", "--revoked", list]), to: relay)
        }
        await relay.shutdown()
        #expect(events.withLock { $0 } == ["ada", "bob"])
    }

    // C-28
    @Test(arguments: ["--tokens", "--passwords", "--client-ca"])
    func `accounts whose secrets have changed or are removed -> revoked, then the rooms are decided again`(
        option: String
    ) async throws {
        let files = try Files()
        func write(_ secrets: [String: String]) throws {
            if option == "--passwords" { return try passwords(secrets, to: files.path("accounts")) }
            try files.write(secrets.map { "\($0) \($1)\n" }.joined(), to: "accounts")
        }
        try write(["ada": "one", "bob": "two", "carol": "three"])
        let rules = try files.write("allow all in lobby to everyone\n", to: "rules")
        let source = option == "--client-ca" ? [option, "ca.pem", "--tokens"] : [option]
        let access = try access(source + [files.path("accounts"), "--rooms", rules])
        let events = Guarded<[String]>([])
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(),
            authenticator: access.authenticator, policy: access.policy
        ) { event in
            switch event {
            case .revoked(let account): events.withLock { $0.append(account.text) }
            case .roomDecisionsRevoked: events.withLock { $0.append("rooms") }
            default: break
            }
        }
        _ = try relay.start()
        try write(["ada": "one", "bob": "new", "dave": "four"])
        await access.apply(try contents(source + [files.path("accounts"), "--rooms", rules]), to: relay)
        await relay.shutdown()
        let names = events.withLock { $0 }
        #expect(names.dropLast().sorted() == ["bob", "carol"] && names.last == "rooms")
    }
}
