import Testing

@testable import MartletAuthentication

@Suite struct Base64Tests {
    // RFC 4648 §10
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func `the vectors of RFC 4648 are encoded and decoded`(_ plain: String, _ text: String) {
        #expect(Base64.encode(Array(plain.utf8), .standard) == text)
        #expect(Base64.decode(text.utf8, .standard) == Array(plain.utf8))
        let unpadded = text.filter { $0 != "=" }
        #expect(Base64.encode(Array(plain.utf8), .url) == unpadded)
        #expect(Base64.decode(unpadded.utf8, .url) == Array(plain.utf8))
    }

    @Test func `every byte value survives both variants`() {
        let bytes = (0...255).map { UInt8($0) }
        for variant in [Base64.Variant.standard, .url] {
            #expect(Base64.decode(Base64.encode(bytes, variant).utf8, variant) == bytes)
        }
        #expect(Base64.encode([0xFB, 0xFF, 0xBF], .standard) == "+/+/")
        #expect(Base64.encode([0xFB, 0xFF, 0xBF], .url) == "-_-_")
    }

    @Test(arguments: ["A", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "-_-_", "Zm 9"])
    func `standard base64 with an invalid form is refused`(_ text: String) {
        #expect(Base64.decode(text.utf8, .standard) == nil)
    }

    @Test(arguments: ["A", "Zg==", "Zh", "Zm9", "+/+/", "Zm9v\n", "é"])
    func `base64url with an invalid form is refused`(_ text: String) {
        #expect(Base64.decode(text.utf8, .url) == nil)
    }
}
