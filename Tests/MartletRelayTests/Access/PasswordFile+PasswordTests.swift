import MartletAuthentication
import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite struct PasswordFilePasswordTests {
    /// Whether an exchange with this password succeeds.
    private func accepts(_ file: PasswordFile, _ account: String, _ password: String) async throws -> Bool {
        let relay = SCRAMAuthenticator(passwordFile: file, allowsPlaintext: true)
        var client = try TestPasswords.client(account, password)
        var exchange = try #require(try relay.exchange(for: TestPasswords.request(account)))
        guard case .challenge(let challenge) = try await exchange.step(client.start()) else {
            throw PeerError.nothing
        }
        let answer = try client.receive(serverFirst: challenge)
        do {
            guard case .accepted = try await exchange.step(answer) else { return false }
            return true
        } catch is AuthenticationFailure {
            return false
        }
    }

    @Test func `a password is added, then replaced → accepted; the earlier one is refused`() async throws {
        var file = try TestPasswords.file()
        try file.add("bob", password: "first")
        #expect(file.record(of: "bob")?.iterations == 4096)
        #expect(file.record(of: "bob")?.salt != file.record(of: "ada")?.salt)
        #expect(try await accepts(file, "bob", "first"))
        try file.replace("bob", password: "second")
        #expect(try await accepts(file, "bob", "second"))
        #expect(try await !accepts(file, "bob", "first"))
        #expect(file.names == ["ada", "bob"])
    }

    @Test func `the first password of an empty file → the usual iterations, and a secret for unknown users`() throws {
        var file = PasswordFile()
        try file.add("ada", password: "open sesame")
        #expect(file.iterations == PasswordFile.usualIterations)
        let secret = try #require(file.unknownUserSecret)
        #expect(secret.count == SCRAMLimits.minSecretByteCount)
        #expect(try PasswordFile(parsing: file.bytes) == file)
    }

    @Test func `an invalid password, a name with a record, and one without → their errors`() throws {
        var file = try TestPasswords.file()
        #expect(throws: SCRAMError.invalidPassword) { try file.add("bob", password: "") }
        #expect(throws: PasswordFileFault.duplicateName) { try file.add("ada", password: "x") }
        #expect(throws: PasswordFileFault.unknownName) { try file.replace("bob", password: "x") }
        #expect(try file == TestPasswords.file())
    }
}
