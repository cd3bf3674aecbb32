import Testing

@testable import MartletAuthentication

@Suite struct PasswordFileTests {
    private static let record = SCRAMRecord.sample.text
    private static let other = record.replacing("$4096:", with: "$5000:")

    private func parse(_ text: String) throws -> PasswordFile {
        try PasswordFile(parsing: Array(text.utf8))
    }

    private func text(_ file: PasswordFile) -> String {
        String(decoding: file.bytes, as: UTF8.self)
    }

    @Test func `an empty file has no users`() throws {
        #expect(try parse("") == PasswordFile())
        #expect(PasswordFile().bytes.isEmpty)
        #expect(PasswordFile().names.isEmpty)
    }

    @Test func `users, comments and empty lines survive a round trip`() throws {
        let content = "# users\n\nalice \(Self.record)\n#bob \(Self.record)\nJörg von Ü \(Self.other)\n"
        let file = try parse(content)
        #expect(file.names == ["alice", "Jörg von Ü"])
        #expect(file.record(of: "alice") == .sample)
        #expect(file.record(of: "Jörg von Ü")?.iterations == 5000)
        #expect(file.record(of: "bob") == nil)
        #expect(text(file) == content)
    }

    @Test func `a last line without a line feed receives one`() throws {
        #expect(text(try parse("alice \(Self.record)")) == "alice \(Self.record)\n")
    }

    @Test(
        arguments: [
            ("alice", .missingRecord),
            ("alice\t\(record)", .missingRecord),
            (" \(record)", .invalidName),
            (" alice \(record)", .invalidName),
            ("alice  \(record)", .invalidName),
            ("al\tice \(record)", .invalidName),
            ("\(String(repeating: "n", count: 129)) \(record)", .invalidName),
            ("alice ", .invalidRecord),
            ("alice \(record) ", .invalidRecord),
            ("alice \(record)\r", .invalidRecord),
            ("alice \(record) # comment", .invalidRecord),
            ("alice secret", .invalidRecord),
            ("user \(record)", .duplicateName),
            ("#" + String(repeating: "c", count: 512), .oversizedLine),
        ] as [(String, PasswordFileFault)])
    func `a malformed line is refused with its number`(_ line: String, _ fault: PasswordFileFault) {
        #expect(throws: PasswordFileError(line: 3, fault: fault)) {
            try parse("# comment\nuser \(Self.record)\n\(line)\nlast \(Self.record)\n")
        }
    }

    @Test func `a name or record that is not UTF-8 is refused`() {
        let record = Array(Self.record.utf8)
        #expect(throws: PasswordFileError(line: 1, fault: .invalidName)) {
            try PasswordFile(parsing: [0xFF, 0x20] + record)
        }
        #expect(throws: PasswordFileError(line: 1, fault: .invalidRecord)) {
            try PasswordFile(parsing: [0x61, 0x20] + record + [0xFF])
        }
    }

    @Test func `100,000 lines are accepted and one more is refused`() throws {
        let lines = String(repeating: "\n", count: PasswordFile.maxLineCount)
        var file = try parse(lines)
        #expect(throws: PasswordFileFault.tooManyLines) { try file.add("alice", .sample) }
        let secret = [UInt8](repeating: 1, count: 32)
        #expect(throws: PasswordFileFault.tooManyLines) { try file.addUnknownUserSecret(secret) }
        #expect(text(file) == lines)
        #expect(throws: PasswordFileError(line: 100_001, fault: .tooManyLines)) { try parse(lines + "\n") }
    }

    @Test func `a line of 512 bytes is accepted`() throws {
        let line = "#" + String(repeating: "c", count: 511) + "\n"
        #expect(text(try parse(line)) == line)
    }

    @Test func `an added user is in the last line`() throws {
        var file = try parse("# users\nalice \(Self.record)\n")
        try file.add("bob", .sample)
        #expect(text(file) == "# users\nalice \(Self.record)\nbob \(Self.record)\n")
        #expect(throws: PasswordFileFault.duplicateName) { try file.add("bob", .sample) }
    }

    @Test(arguments: ["", "#alice", " alice", "alice ", "al\nice", String(repeating: "n", count: 129)])
    func `a user whose name the file cannot contain is not added`(_ name: String) {
        var file = PasswordFile()
        #expect(throws: PasswordFileFault.invalidName) { try file.add(name, .sample) }
        #expect(file == PasswordFile())
    }

    @Test func `a replaced record is in the line of the former one`() throws {
        var file = try parse("alice \(Self.record)\nbob \(Self.record)\n")
        try file.replace("alice", try #require(SCRAMRecord(Self.other)))
        #expect(text(file) == "alice \(Self.other)\nbob \(Self.record)\n")
        #expect(throws: PasswordFileFault.unknownName) { try file.replace("carol", .sample) }
        #expect(file.record(of: "carol") == nil)
    }

    @Test func `a removed user is gone and can be added again`() throws {
        var file = try parse("# users\nalice \(Self.record)\nbob \(Self.record)\n")
        try file.remove("alice")
        #expect(text(file) == "# users\nbob \(Self.record)\n")
        #expect(throws: PasswordFileFault.unknownName) { try file.remove("alice") }
        try file.add("alice", .sample)
        #expect(file.names == ["bob", "alice"])
    }

    @Test func `a secret for unknown users -> a comment in line 1, which another secret does not replace`() throws {
        var file = try parse("alice \(Self.record)\n")
        #expect(file.unknownUserSecret == nil)
        let secret = [UInt8](0..<32)
        try file.addUnknownUserSecret(secret)
        try file.addUnknownUserSecret([UInt8](repeating: 1, count: 32))
        #expect(file.unknownUserSecret == secret)
        let line = "#unknown-users AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
        #expect(text(file) == line + "alice \(Self.record)\n")
        #expect(try parse(text(file)).unknownUserSecret == secret)
    }

    @Test(arguments: ["#unknown-users", "#unknown-users AAEC", "#unknown-users ?", "# unknown-users \(record)"])
    func `another comment -> no secret`(_ line: String) throws {
        #expect(try parse("\(line)\n").unknownUserSecret == nil)
    }

    @Test func `the iterations are those of the first user, or the usual ones`() throws {
        #expect(try parse("# nobody\n").iterations == PasswordFile.usualIterations)
        #expect(try parse("# two\nalice \(Self.other)\nbob \(Self.record)\n").iterations == 5000)
    }

    @Test func `canonically equivalent names with different bytes are two users`() throws {
        var file = try parse("\u{E9} \(Self.record)\n")
        #expect(file.record(of: "e\u{301}") == nil)
        try file.add("e\u{301}", try #require(SCRAMRecord(Self.other)))
        try file.remove("\u{E9}")
        #expect(file.record(of: "e\u{301}")?.iterations == 5000)
    }
}
