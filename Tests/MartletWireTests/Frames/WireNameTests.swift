import MartletWire
import Testing

@Suite("Names")
struct NameTests {
    @Test("names of visible characters are accepted", arguments: ["a", "Ada Lovelace", "房間", "🐦", "ê", "\u{378}"])
    func valid(_ text: String) {
        #expect(AccountName(text)?.text == text)
        #expect(RoomName(text)?.description == text)
        #expect(MethodName(text)?.text == text)
    }

    // W-31
    @Test(
        "empty names and control characters are refused", arguments: ["", "\0", "a\nb", "\u{7F}", "a\u{85}", "\u{9F}"])
    func invalid(_ text: String) {
        #expect(AccountName(text) == nil)
        #expect(RoomName(text) == nil)
        #expect(MethodName(text) == nil)
    }

    // W-31
    @Test(
        "invisible and reordering characters and blanks other than U+0020 are refused",
        arguments: [
            "\u{A0}", "\u{AD}", "\u{34F}", "\u{61C}", "\u{115F}", "\u{180E}", "\u{2003}", "\u{200B}", "\u{200D}",
            "\u{200F}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2060}", "\u{2066}", "\u{2069}", "\u{3000}", "\u{3164}",
            "\u{E000}", "\u{FE0F}", "\u{FEFF}", "\u{FFA0}", "\u{FFF9}", "\u{FFFE}", "\u{E0041}", "\u{10FFFF}",
        ] as [Unicode.Scalar])
    func refused(_ scalar: Unicode.Scalar) {
        #expect(AccountName("a\(scalar)b") == nil)
        #expect(RoomName("\(scalar)") == nil)
        #expect(MethodName("a\(scalar)") == nil)
    }

    // W-31
    @Test("leading, trailing and repeated blanks are refused", arguments: [" a", "a ", "a  b", " "])
    func blanks(_ text: String) {
        #expect(AccountName(text) == nil)
        #expect(AccountName("a b c").text == "a b c")
    }

    // W-31
    @Test("every control, format, separator and private-use character of Unicode 15 is refused")
    func categories() {
        var wrong: [UInt32] = []
        for value in 0...0x10_FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            let isUnseen: Bool =
                switch properties.generalCategory {
                case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .privateUse: value != 0x20
                default: properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint
                }
            let isOfUnicode15 = properties.age.map { $0.major <= 15 } ?? properties.isNoncharacterCodePoint
            let isRefused = RoomName("a\(scalar)b") == nil
            // The blocks of tags and of private use are refused completely, unassigned code points included.
            if isOfUnicode15 ? isUnseen != isRefused : isRefused && !isUnseen && value < 0xF_0000 {
                wrong.append(value)
            }
        }
        #expect(wrong.map { String($0, radix: 16) } == [])
    }

    @Test("the length of a name is bounded in bytes")
    func bounds() {
        #expect(AccountName(String(repeating: "é", count: 64)) != nil)
        #expect(AccountName(String(repeating: "é", count: 64) + "a") == nil)
        #expect(RoomName(String(repeating: "a", count: 128)) != nil)
        #expect(RoomName(String(repeating: "a", count: 129)) == nil)
        #expect(MethodName(String(repeating: "a", count: 64)) != nil)
        #expect(MethodName(String(repeating: "a", count: 65)) == nil)
    }

    @Test("a text and the bytes of a sender are accepted or refused alike")
    func sender() {
        let values =
            Array(0...0x180 as ClosedRange<UInt32>) + [
                0x200B, 0x2027, 0x2028, 0x3000, 0xFFFD, 0xFFFE, 0x1_10BD, 0x2_0000,
            ]
        for value in values {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)"
            var fields = [Field(.counter, 1 as UInt64), Field(.kind, 0x1002 as UInt16), Field(.content, [])]
            fields += [Field(.offset, 1 as UInt64), Field(.acceptedAt, 1 as UInt64), Field(.device, 1 as UInt64)]
            let message = try? Message(fields + [Field(.sender, Array(text.utf8))])
            #expect(message?.relay?.sender == AccountName(text))
            #expect((message == nil) == (AccountName(text) == nil))
        }
    }

    // W-31
    @Test("names with different bytes are unequal even if they look alike")
    func identity() {
        let composed = AccountName("\u{E9}")
        let decomposed = AccountName("e\u{301}")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, AccountName("\u{E9}")]).count == 2)
    }

    @Test("canonically equivalent names have different hashes")
    func hashes() {
        // Each of these characters has a composed and a decomposed form.
        let forms = (0..<64).map { number in
            (0..<6).map { number >> $0 & 1 == 0 ? "\u{E9}" : "e\u{301}" }.joined()
        }
        #expect(Set(forms).count == 1)
        #expect(Set(forms.map { RoomName($0)!.hashValue }).count == 64)
    }

    @Test("names are ordered by their bytes")
    func order() {
        #expect(["b", "\u{E9}", "a", "e\u{301}"].map { RoomName($0)! }.sorted() == ["a", "b", "e\u{301}", "\u{E9}"])
    }

    @Test("names of every length with one other byte are ordered as the standard library orders their bytes")
    func orderOfLongNames() {
        for count in 1...20 {
            let name = String(repeating: "n", count: count)
            for position in 0..<count {
                for other in ["m", "o", "\u{E9}", "", "nn"] {
                    let place = name.utf8.index(name.startIndex, offsetBy: position)
                    let changed = String(name[..<place]) + other + String(name[name.utf8.index(after: place)...])
                    guard let left = RoomName(name), let right = RoomName(changed) else { continue }
                    #expect((left < right) == name.utf8.lexicographicallyPrecedes(changed.utf8), "\(changed)")
                    #expect((right < left) == changed.utf8.lexicographicallyPrecedes(name.utf8), "\(changed)")
                }
            }
        }
    }

    @Test("a literal that violates the rules traps")
    func literals() async {
        await #expect(processExitsWith: .failure) { _ = "a\n" as AccountName }
        await #expect(processExitsWith: .failure) { _ = "" as RoomName }
    }
}
