import MartletWire
import Testing

@Suite struct TLVReaderTests {
    /// Returns copies of the tags and values of one level.
    static func fields(_ bytes: [UInt8], budget: Int = TLVLimits.maxCount) throws(WireError) -> [[UInt8]] {
        var reader = TLVReader(bytes.rawBytes, budget: budget)
        var fields: [[UInt8]] = []
        while let field = try reader.next() {
            fields.append([UInt8(field.tag.rawValue >> 8), UInt8(field.tag.rawValue & 0xFF)] + field.bytes())
        }
        return fields
    }

    /// Returns the error of `read` for the first field of `bytes`.
    static func error(_ bytes: [UInt8], _ read: (borrowing TLVView) throws(WireError) -> Void) -> WireError? {
        thrown { () throws(WireError) in
            var reader = TLVReader(bytes.rawBytes)
            guard let field = try reader.next() else { throw .missingField(.data) }
            try read(field)
        }
    }

    // W-23
    @Test func `repeated tags are returned in order`() throws {
        let bytes: [UInt8] = [0, 5, 0, 0, 0, 1, 9, 0x40, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 7, 8]
        #expect(try Self.fields(bytes) == [[0, 5, 9], [0x40, 0], [0, 5, 7, 8]])
        #expect(try Self.fields([]) == [])
    }

    // W-24
    @Test func `every truncation is malformed at the truncated field`() throws {
        let bytes: [UInt8] = [0, 1, 0, 0, 0, 1, 9, 0, 2, 0, 0, 0, 3, 1, 2, 3]
        for count in 1..<bytes.count where count != 7 {
            let error = thrown { () throws(WireError) in try Self.fields(Array(bytes[..<count])) }
            #expect(error == .malformedTLV(offset: count < 7 ? 0 : 7))
        }
    }

    @Test(arguments: [1, 0xFF, 0xFFFF_FFFA, 0xFFFF_FFFF] as [UInt32])
    func `a length beyond the enclosing level is malformed`(length: UInt32) {
        var bytes: [UInt8] = [0, 1]
        bytes.append(bigEndian: length)
        #expect(thrown { () throws(WireError) in try Self.fields(bytes) } == .malformedTLV(offset: 0))
    }

    @Test func `the reader does not advance past an invalid field`() throws {
        let bytes: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9]
        var reader = TLVReader(bytes.rawBytes)
        _ = try reader.next()
        var offsets: [Int] = []
        for _ in 0..<2 {
            do throws(WireError) {
                _ = try reader.next()
            } catch {
                offsets.append(reader.offset)
            }
        }
        #expect(offsets == [6, 6])
    }

    @Test func `TLVs up to the budget are returned, one more is refused`() throws {
        let exact = [UInt8](repeating: 0, count: 6 * TLVLimits.maxCount)
        #expect(try Self.fields(exact).count == 1024)
        let one = exact + [0, 0, 0, 0, 0, 0]
        #expect(thrown { () throws(WireError) in try Self.fields(one) } == .tooManyTLVs(limit: 1024))
        #expect(thrown { () throws(WireError) in try Self.fields(exact, budget: 3) } == .tooManyTLVs(limit: 1024))
    }

    @Test func `the value of a container is read by its own reader`() throws {
        var writer = TLVWriter()
        writer.container(.content) { $0.append(.text, string: "hi") }
        writer.append(.kind, uint16: 0x1001)
        let bytes = writer.bytes
        var reader = TLVReader(bytes.rawBytes)
        var texts: [String] = []
        var budgets: [Int] = []
        while let field = try reader.next() {
            guard field.tag.isContainer else { continue }
            var inner = field.reader(budget: reader.budget)
            while let text = try inner.next() { texts.append(try text.string(maxByteCount: 2)) }
            budgets = [reader.budget, inner.budget]
        }
        #expect(texts == ["hi"])
        #expect(budgets == [1023, 1022])
    }

    @Test func `integers of exactly their length are returned`() throws {
        var writer = TLVWriter()
        writer.append(.typing, uint8: 0xAB)
        writer.append(.kind, uint16: 0xABCD)
        writer.append(.epoch, uint32: 0xABCD_EF01)
        writer.append(.nonce, uint64: 0xABCD_EF01_2345_6789)
        let bytes = writer.bytes
        var reader = TLVReader(bytes.rawBytes)
        var values: [UInt64] = []
        while let field = try reader.next() {
            switch field.value.byteCount {
            case 1: values.append(UInt64(try field.uint8()))
            case 2: values.append(UInt64(try field.uint16()))
            case 4: values.append(UInt64(try field.uint32()))
            default: values.append(try field.uint64())
            }
        }
        #expect(values == [0xAB, 0xABCD, 0xABCD_EF01, 0xABCD_EF01_2345_6789])
    }

    // W-30
    @Test func `integers of another length are invalid`() {
        for byteCount in 0...9 {
            let bytes: [UInt8] = [0, 0x33, 0, 0, 0, UInt8(byteCount)] + [UInt8](repeating: 1, count: byteCount)
            let errors = [
                Self.error(bytes) { (field) throws(WireError) in _ = try field.uint8() },
                Self.error(bytes) { (field) throws(WireError) in _ = try field.uint16() },
                Self.error(bytes) { (field) throws(WireError) in _ = try field.uint32() },
                Self.error(bytes) { (field) throws(WireError) in _ = try field.uint64() },
            ]
            let expected = [1, 2, 4, 8].map { $0 == byteCount ? nil : WireError.invalidValue(.nonce) }
            #expect(errors == expected, "\(byteCount) bytes")
        }
    }

    @Test(
        arguments: [
            ("", nil), ("a", nil), ("日本", nil), ("1234567", "too long"), ("\u{FF}", nil),
        ] as [(String, String?)])
    func `text within its bounds in bytes is returned, any other is refused`(text: String, why: String?) {
        var writer = TLVWriter()
        writer.append(.text, string: text)
        let bytes = writer.bytes
        var read: String?
        let error = Self.error(bytes) { (field) throws(WireError) in read = try field.string(maxByteCount: 6) }
        #expect(error == (why == nil ? nil : .invalidValue(.text)))
        #expect(read == (why == nil ? text : nil))
    }

    // W-30
    @Test func `text that is too short or not UTF-8 is invalid`() {
        let empty: [UInt8] = [2, 1, 0, 0, 0, 0]
        let broken: [UInt8] = [2, 1, 0, 0, 0, 2, 0x61, 0xFF]
        #expect(
            Self.error(empty) { (field) throws(WireError) in try field.checkText(minByteCount: 1) }
                == .invalidValue(.text))
        #expect(Self.error(empty) { (field) throws(WireError) in try field.checkText() } == nil)
        #expect(
            Self.error(broken) { (field) throws(WireError) in _ = try field.string(maxByteCount: 9) }
                == .invalidValue(.text))
    }

    // W-28
    @Test func `an unknown tag is skipped, an unknown critical one is refused`() {
        let plain: [UInt8] = [0x7F, 0xFF, 0, 0, 0, 0]
        let critical: [UInt8] = [0x80, 0x00, 0, 0, 0, 0]
        #expect(Self.error(plain) { (field) throws(WireError) in try field.skip() } == nil)
        #expect(
            Self.error(critical) { (field) throws(WireError) in try field.skip() }
                == .unknownCriticalTag(Tag(rawValue: 0x8000)))
    }
}
