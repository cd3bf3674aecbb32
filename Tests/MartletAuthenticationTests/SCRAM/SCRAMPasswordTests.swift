import Testing

@testable import MartletAuthentication

@Suite struct SCRAMPasswordTests {
    @Test(arguments: ["", "pen\ncil", "\0", "\u{7F}", "\u{80}", String(repeating: "p", count: 1025)])
    func `a password that is empty, too long or has a control character is refused`(_ text: String) {
        #expect(throws: SCRAMError.invalidPassword) { try SCRAMPassword(text) }
    }

    @Test(arguments: [" ", "pass word", "пароль", "🔑", String(repeating: "p", count: 1024)])
    func `blanks and characters outside ASCII are accepted`(_ text: String) throws {
        _ = try SCRAMPassword(text)
    }

    // C-86
    @Test func `a password in NFC and in NFD -> different keys, since it is not prepared`() throws {
        let keys = try ["\u{E9}x", "e\u{301}x"].map {
            try SCRAMPassword($0).salted(SCRAMRecord.sample.salt, iterations: 4096).storedKey
        }
        #expect(keys[0] != keys[1])
    }

    @Test func `the keys of the example of RFC 7677 are those of its record`() throws {
        let keys = try SCRAMPassword("pencil").salted(SCRAMRecord.sample.salt, iterations: 4096)
        #expect(keys.storedKey == SCRAMRecord.sample.storedKey)
        #expect(keys.serverKey == SCRAMRecord.sample.serverKey)
    }
}
