import Testing

@testable import MartletAuthentication

@Suite struct JSONReaderTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue {
        try JSONReader.read(Array(text.utf8), maxByteCount: 1000)
    }

    @Test(arguments: [
        ("null", JSONValue.null), (" true\r\n", .bool(true)), ("\tfalse", .bool(false)), ("[]", .array([])),
        ("{ }", .object([])), ("\"\"", .string("")), ("[1, [2],\"3\"]", .array([1, .array([2]), .string("3")])),
        (
            #"{"a" : {"b":null} ,"c":[]}"#,
            .object([
                JSONMember(name: "a", value: .object([JSONMember(name: "b", value: .null)])),
                JSONMember(name: "c", value: .array([])),
            ])
        ),
    ])
    func `every kind of value is read`(_ text: String, _ value: JSONValue) throws {
        #expect(try read(text) == value)
    }

    @Test(arguments: [
        ("0", JSONValue.integer(0)), ("-0", 0), ("9223372036854775807", .integer(.max)),
        ("-9223372036854775808", .integer(.min)), ("9223372036854775808", .unsigned(1 << 63)),
        ("18446744073709551615", .unsigned(.max)), ("18446744073709551616", .double(0x1p64)),
        ("1.5", .double(1.5)), ("1e3", .double(1000)), ("-2.5E-1", .double(-0.25)), ("1E+2", .double(100)),
        ("1e-999", .double(0)),
    ])
    func `a number is an integer if it has no fraction and no exponent and fits`(
        _ text: String, _ value: JSONValue
    ) throws {
        #expect(try read(text) == value)
    }

    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\uD83D\uDE00""#, "😀"), (#""\u0000""#, "\0"), ("\"é€😀\u{7F}\"", "é€😀\u{7F}"),
    ])
    func `escapes and UTF-8 are decoded`(_ text: String, _ value: String) throws {
        #expect(try read(text) == .string(value))
    }

    @Test(arguments: [
        ("", JSONError.Reason.unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
        ("{\"a\"", .unexpectedEnd, 4), ("\"a", .unexpectedEnd, 2), ("tru", .unexpectedEnd, 3), ("-", .unexpectedEnd, 1),
        ("\"\\", .unexpectedEnd, 2), ("\"\\u00", .unexpectedEnd, 5), ("1.", .unexpectedEnd, 2),
        ("[1,]", .unexpectedByte, 3), ("{,}", .unexpectedByte, 1), ("{\"a\":1,}", .unexpectedByte, 7),
        ("{a:1}", .unexpectedByte, 1), ("[1 2]", .unexpectedByte, 3), ("{\"a\" 1}", .unexpectedByte, 5),
        ("True", .unexpectedByte, 0), ("nulL", .unexpectedByte, 3), ("'a'", .unexpectedByte, 0),
        ("NaN", .unexpectedByte, 0), ("+1", .unexpectedByte, 0), (".5", .unexpectedByte, 0),
        ("\u{FEFF}1", .unexpectedByte, 0), ("\u{A0}1", .unexpectedByte, 0), ("// a\n1", .unexpectedByte, 0),
        ("-a", .invalidNumber, 1), ("1.e1", .invalidNumber, 2), ("1ea", .invalidNumber, 2),
        ("1e999", .invalidNumber, 0), ("[-1e999]", .invalidNumber, 1),
        ("01", .trailingBytes, 1), ("1 x", .trailingBytes, 2), ("{}{}", .trailingBytes, 2), ("1\0", .trailingBytes, 1),
        ("\"\n\"", .invalidString, 1), ("\"\0\"", .invalidString, 1), (#""\x""#, .invalidString, 1),
        (#""\u00g0""#, .invalidString, 5), (#""\u+041""#, .invalidString, 3),
        (#""a\uD800""#, .invalidUnicode, 2), (#""\uDC00""#, .invalidUnicode, 1),
        (#""\uD800\u0041""#, .invalidUnicode, 1),
        (#""\uD800\n""#, .invalidUnicode, 1),
        (#"{"a":1,"a":2}"#, .duplicateName, 7), (#"{"a":1,"\u0061":2}"#, .duplicateName, 7),
    ])
    func `invalid text gives its reason and position`(_ text: String, _ reason: JSONError.Reason, _ offset: Int) {
        #expect(throws: JSONError(reason: reason, offset: offset)) { try read(text) }
    }

    @Test(
        arguments: [
            [0xFF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
            [0xC3, 0x5C, 0x6E],
        ] as [[UInt8]])
    func `a string with invalid UTF-8 is refused`(_ bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONError(reason: .invalidUnicode, offset: 0)) {
            try JSONReader.read([quote] + bytes + [quote], maxByteCount: 100)
        }
    }

    @Test func `names that differ in bytes only are different names`() throws {
        let members = try #require(try read("{\"\u{E9}\":1,\"e\u{301}\":2}").members)
        #expect(members["\u{E9}"] == 1)
        #expect(members["e\u{301}"] == 2)
        #expect(members["e"] == nil)
    }

    @Test func `16 levels are read and 17 are refused`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[{\"a\":", count: depth / 2) + (depth % 2 == 1 ? "[]" : "0")
                + String(repeating: "}]", count: depth / 2)
        }
        _ = try read(nested(16))
        #expect(throws: JSONError(reason: .tooDeep, offset: 48)) { try read(nested(17)) }
        #expect(throws: JSONError(reason: .tooDeep, offset: 16)) {
            try JSONReader.read(Array(repeating: UInt8(ascii: "["), count: 1_000_000), maxByteCount: 1_000_000)
        }
        _ = try read("[" + Array(repeating: "[]", count: 100).joined(separator: ",") + "]")
    }

    @Test func `text of the maximum size is read and one byte more is refused`() throws {
        let text = Array("[1]".utf8)
        _ = try JSONReader.read(text, maxByteCount: 3)
        #expect(throws: JSONError(reason: .tooLarge, offset: 2)) { try JSONReader.read(text, maxByteCount: 2) }
    }

    @Test func `every proper prefix of a document is refused`() throws {
        let document = Array(#"{"a":[1,-2.5e3,"é\uD83D\uDE00\n",true,false,null,{}],"b":{"c":[[]]}}"#.utf8)
        _ = try JSONReader.read(document, maxByteCount: 1000)
        for count in 0..<document.count {
            #expect(throws: JSONError.self) { try JSONReader.read(Array(document.prefix(count)), maxByteCount: 1000) }
        }
    }

    @Test func `every byte in every place of a document gives a value or an error inside the document`() {
        let document = Array(#"{"a":[1,-2.5e3,"é\uD83D\uDE00"],"b":null}"#.utf8)
        for offset in document.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = document
                changed[offset] = byte
                do throws(JSONError) {
                    _ = try JSONReader.read(changed, maxByteCount: 1000)
                } catch {
                    #expect((0...changed.count).contains(error.offset))
                }
            }
        }
    }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// A number.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }
}
