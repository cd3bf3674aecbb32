import Testing

@testable import MartletAuthentication

@Suite struct UnknownUserRecordsTests {
    private func challenge(
        _ name: String, _ record: SCRAMRecord? = nil, unknownUsers: UnknownUserRecords = .sample
    ) throws -> String {
        var server = try SCRAMServer(
            nonceText: SCRAMVector.serverNonce, binding: .none, unknownUsers: unknownUsers)
        _ = try server.receive(clientFirst: Array("n,,n=\(name),r=\(SCRAMVector.clientNonce)".utf8))
        return String(decoding: try server.challenge(with: record), as: UTF8.self)
    }

    @Test func `the challenge of an unknown user has the form of that of a user`() throws {
        let form = /r=[!-~]+,s=[A-Za-z0-9+\/]{22}==,i=4096/
        #expect(try challenge("nobody").wholeMatch(of: form) != nil)
        #expect(try challenge("user", .sample).wholeMatch(of: form) != nil)
        #expect(try challenge("nobody").utf8.count == challenge("user", .sample).utf8.count)
    }

    @Test func `the challenge of an unknown user is stable, and depends on name and secret`() throws {
        #expect(try challenge("nobody") == challenge("nobody"))
        #expect(try challenge("nobody") != challenge("nobody2"))
        #expect(try challenge("nobody") != challenge("nobody", unknownUsers: .makeSample(secret: 8)))
    }

    @Test func `salt and keys of a record differ`() throws {
        let record = UnknownUserRecords.sample.record(of: try SCRAMName("nobody"))
        #expect(record.storedKey != record.serverKey)
        #expect(!record.storedKey.bytes.starts(with: record.salt))
    }

    @Test func `a verification has the user's record, or that of an unknown user, which it refuses`() throws {
        let name = try SCRAMName("user")
        let known = UnknownUserRecords.sample.verification(of: name, with: .sample)
        #expect(known.record == .sample)
        #expect(known.isKnownUser)
        let unknown = UnknownUserRecords.sample.verification(of: name, with: nil)
        #expect(unknown.record == UnknownUserRecords.sample.record(of: name))
        #expect(!unknown.isKnownUser)
    }

    @Test func `a secret with fewer than 32 bytes is refused`() {
        #expect(throws: SCRAMError.invalidSecret) {
            try UnknownUserRecords(secret: Array(repeating: 1, count: 31), iterations: 4096)
        }
    }

    @Test(arguments: [0, 4095, 1_000_001])
    func `an iteration count outside of 4096 to 1,000,000 is refused`(_ count: Int) {
        #expect(throws: SCRAMError.iterationCountOutOfBounds) {
            try UnknownUserRecords(secret: Array(repeating: 1, count: 32), iterations: count)
        }
    }
}
