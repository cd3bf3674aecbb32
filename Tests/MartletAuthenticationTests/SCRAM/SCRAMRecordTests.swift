import Testing

@testable import MartletAuthentication

@Suite struct SCRAMRecordTests {
    private static let salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
    private static let key = Base64.encode([UInt8](repeating: 1, count: 32), .standard)

    @Test func `the record of the example of RFC 7677 is computed from its password`() throws {
        let record = try SCRAMRecord(password: "pencil", salt: SCRAMRecord.sample.salt, iterations: 4096)
        #expect(record == .sample)
    }

    @Test func `password, salt and iteration count change the record`() throws {
        let salt = SCRAMRecord.sample.salt
        #expect(try SCRAMRecord(password: "Pencil", salt: salt, iterations: 4096) != .sample)
        #expect(try SCRAMRecord(password: "pencil", salt: salt, iterations: 4097) != .sample)
        let other = try SCRAMRecord(password: "pencil", salt: salt.reversed(), iterations: 4096)
        #expect(other.storedKey != SCRAMRecord.sample.storedKey)
    }

    @Test func `an invalid password, salt or iteration count is refused`() {
        let salt = SCRAMRecord.sample.salt
        #expect(throws: SCRAMError.invalidPassword) { try SCRAMRecord(password: "", salt: salt, iterations: 4096) }
        for salt in [[], Array(salt.dropLast()), salt + [0]] {
            #expect(throws: SCRAMError.invalidSalt) { try SCRAMRecord(password: "p", salt: salt, iterations: 4096) }
        }
        for count in [-1, 0, 4095, 1_000_001, Int.max] {
            #expect(throws: SCRAMError.iterationCountOutOfBounds) {
                try SCRAMRecord(password: "p", salt: salt, iterations: count)
            }
        }
    }

    @Test func `the text of a record is read again`() {
        let record = SCRAMRecord.sample
        #expect(SCRAMRecord(record.text) == record)
        #expect(record.text.hasPrefix("SCRAM-SHA-256$4096:\(Self.salt)$"))
    }

    @Test(
        arguments: [
            "", "SCRAM-SHA-256", "SCRAM-SHA-256$4096:\(salt)", "SCRAM-SHA-1$4096:\(salt)$\(key):\(key)",
            "scram-sha-256$4096:\(salt)$\(key):\(key)", "SCRAM-SHA-256$4096:\(salt)$\(key)",
            "SCRAM-SHA-256$4096$\(key):\(key)", "SCRAM-SHA-256$:\(salt)$\(key):\(key)",
            "SCRAM-SHA-256$4095:\(salt)$\(key):\(key)", "SCRAM-SHA-256$1000001:\(salt)$\(key):\(key)",
            "SCRAM-SHA-256$04096:\(salt)$\(key):\(key)", "SCRAM-SHA-256$+4096:\(salt)$\(key):\(key)",
            "SCRAM-SHA-256$99999999999999999999:\(salt)$\(key):\(key)", "SCRAM-SHA-256$4096:AAAA$\(key):\(key)",
            "SCRAM-SHA-256$4096:\(salt.dropLast())$\(key):\(key)", "SCRAM-SHA-256$4096:\(salt)$AAAA:\(key)",
            "SCRAM-SHA-256$4096:\(salt)$\(key):AAAA", "SCRAM-SHA-256$4096:\(salt)$\(key):\(key)$",
            "SCRAM-SHA-256$4096:\(salt)$\(key):\(key):", "SCRAM-SHA-256$4096:\(salt)$\(key):\(key)\r",
            " SCRAM-SHA-256$4096:\(salt)$\(key):\(key)", "md5a3556571e93b0d20722ba62be61e8c2d",
        ])
    func `a text with a missing, invalid or further part is no record`(_ text: String) {
        #expect(SCRAMRecord(text) == nil)
    }
}
