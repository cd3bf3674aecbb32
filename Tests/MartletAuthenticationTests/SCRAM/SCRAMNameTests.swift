import Testing

@testable import MartletAuthentication

@Suite struct SCRAMNameTests {
    @Test(
        arguments: [
            ("user", "user"), ("a,b", "a=2Cb"), ("a=b", "a=3Db"), (",=,", "=2C=3D=2C"), ("=2C", "=3D2C"),
            ("Jörg Ü", "Jörg Ü"), ("a b", "a b"),
        ])
    func `a comma and an equals sign are escaped and read again`(_ name: String, _ escaped: String) throws {
        #expect(try SCRAMName(name).escaped == Array(escaped.utf8))
        #expect(try SCRAMName(escaped: Array(escaped.utf8)[...]).text == name)
    }

    @Test(arguments: ["=", "a=", "=2", "=2c", "=3d", "=3E", "=00", "a==2C"])
    func `another escape sequence is refused`(_ text: String) {
        #expect(throws: SCRAMError.invalidAttribute(.userName)) { try SCRAMName(escaped: Array(text.utf8)[...]) }
    }

    @Test(arguments: ["", "a\0", "a\n", "\u{7F}", "a\u{85}b", String(repeating: "n", count: 129)])
    func `a name that is empty, too long or has a control character is refused`(_ text: String) {
        #expect(throws: SCRAMError.invalidUserName) { try SCRAMName(text) }
        #expect(throws: SCRAMError.invalidUserName) { try SCRAMName(escaped: Array(text.utf8)[...]) }
    }

    @Test func `a name of 128 bytes is accepted, also if its escaped form is longer`() throws {
        let name = try SCRAMName(String(repeating: "=", count: 128))
        #expect(name.escaped.count == 384)
        #expect(try SCRAMName(escaped: name.escaped[...]) == name)
    }

    @Test func `a name that is not UTF-8 is refused`() {
        #expect(throws: SCRAMError.invalidAttribute(.userName)) { try SCRAMName(escaped: [0x61, 0xC3]) }
    }

    @Test func `canonically equivalent names with different bytes differ`() throws {
        #expect(try SCRAMName("\u{E9}") != SCRAMName("e\u{301}"))
    }
}
