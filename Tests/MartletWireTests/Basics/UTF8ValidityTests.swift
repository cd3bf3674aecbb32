import Testing

@testable import MartletWire

@Suite struct UTF8ValidityTests {
    @Test(arguments: [
        "", "a", "12345678", "123456789", "é", "12345678é", "€uro", "퟿\u{E000}", "𐀀\u{10FFFF}", "日本語のメッセージ", "👩‍👩‍👧‍👦",
    ])
    func `well-formed text is valid`(text: String) {
        let bytes = Array(text.utf8)
        let valid = bytes.rawBytes.isValidUTF8
        #expect(valid)
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x00], [0xC2, 0xC2], [0xE0, 0x9F, 0xBF],
            [0xE1, 0x80],
            [0xE1, 0x80, 0x00], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF1, 0x80, 0x80],
            [0xF1, 0x80, 0x80, 0xC0],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF],
            [0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x80],
        ] as [[UInt8]])
    func `overlong, surrogate, truncated and stray bytes are invalid`(bytes: [UInt8]) {
        let valid = bytes.rawBytes.isValidUTF8
        #expect(!valid)
    }

    @Test func `one byte beyond ASCII is detected at every position`() {
        for count in 1...100 {
            var bytes = [UInt8](repeating: 0x61, count: count)
            #expect(Self.judge(bytes) == [true, true])
            for place in bytes.indices {
                bytes[place] = 0x80
                #expect(Self.judge(bytes) == [false, false])
                bytes[place] = place % 2 == 0 ? 0x00 : 0x7F
                #expect(Self.judge(bytes) == [true, true])
            }
        }
        #expect(Self.judge([]) == [true, true])
    }

    @Test func `visible ASCII is printable ASCII without blanks, for every position and length`() {
        #expect(!isVisibleASCII([]))
        for count in 1...100 {
            var bytes = [UInt8](repeating: 0x7E, count: count)
            for place in bytes.indices {
                for byte: UInt8 in [0x00, 0x1F, 0x20, 0x7F, 0x80, 0xA1, 0xFF] {
                    bytes[place] = byte
                    #expect(!isVisibleASCII(bytes))
                }
                bytes[place] = 0x21
                #expect(isVisibleASCII(bytes))
            }
        }
    }

    private static func judge(_ bytes: [UInt8]) -> [Bool] {
        [bytes.rawBytes.isValidUTF8, bytes.rawBytes.isASCII]
    }

    @Test func `the result for random bytes equals that of the standard library`() {
        var random = SeededRandom(seed: 1)
        let leads: [UInt8] = [
            0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4,
        ]
        var validCount = 0
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...6, using: &random)).map { _ in leads.randomElement(using: &random)! }
            let valid = bytes.rawBytes.isValidUTF8
            if valid != (String(validating: bytes, as: UTF8.self) != nil) {
                Issue.record("\(bytes) is judged \(valid)")
                return
            }
            validCount += valid ? 1 : 0
        }
        #expect(validCount > 500)
    }

    private func isVisibleASCII(_ bytes: [UInt8]) -> Bool { bytes.rawBytes.isVisibleASCII }
}
