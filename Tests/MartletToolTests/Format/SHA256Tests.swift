import Testing

@testable import MartletTool

/// FIPS 180-4 examples, and the padding's corners.
@Suite struct SHA256Tests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `known digests`(text: String, digest: String) {
        var hash = SHA256()
        hash.update(text.utf8)
        #expect(hash.hexadecimal == digest)
    }

    @Test func `a million letters`() {
        var hash = SHA256()
        for _ in 0..<1000 { hash.update(repeatElement(UInt8(ascii: "a"), count: 1000)) }
        #expect(hash.hexadecimal == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(arguments: [54, 55, 56, 63, 64, 65, 119, 120, 128])
    func `the pieces do not matter`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var whole = SHA256()
        whole.update(bytes)
        var single = SHA256()
        for byte in bytes { single.update([byte]) }
        #expect(whole.hexadecimal == single.hexadecimal)
    }
}
