/// A strict reader of JSON texts (RFC 8259).
///
/// It accepts no byte order mark, no duplicate names and no bytes after the value except whitespace.
package struct JSONReader {
    /// The maximum number of arrays and objects around a value.
    static let maxDepth = 16

    private let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a JSON text of at most `maxByteCount` bytes.
    package static func read(_ bytes: [UInt8], maxByteCount: Int) throws(JSONError) -> JSONValue {
        guard bytes.count <= maxByteCount else { throw JSONError(reason: .tooLarge, offset: maxByteCount) }
        var reader = JSONReader(bytes)
        let value = try reader.value()
        reader.skipWhitespace()
        guard reader.next == nil else { throw reader.error(.trailingBytes) }
        return value
    }

    // MARK: - Bytes

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private func error(_ reason: JSONError.Reason, at offset: Int? = nil) -> JSONError {
        JSONError(reason: reason, offset: offset ?? self.offset)
    }

    /// The error for a missing byte, whether another or none is in its place.
    private var unexpected: JSONError { error(next == nil ? .unexpectedEnd : .unexpectedByte) }

    private mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func expect(_ text: String) throws(JSONError) {
        for character in text.unicodeScalars where !skip(character) { throw unexpected }
    }

    // MARK: - Values

    private mutating func value() throws(JSONError) -> JSONValue {
        skipWhitespace()
        guard let first = next else { throw error(.unexpectedEnd) }
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.maxDepth else { throw error(.tooDeep) }
            depth += 1
            defer { depth -= 1 }
            return first == UInt8(ascii: "{") ? try object() : try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw unexpected
        }
    }

    private mutating func array() throws(JSONError) -> JSONValue {
        try expect("[")
        var elements: [JSONValue] = []
        skipWhitespace()
        if skip("]") { return .array(elements) }
        while true {
            elements.append(try value())
            skipWhitespace()
            if skip("]") { return .array(elements) }
            try expect(",")
        }
    }

    private mutating func object() throws(JSONError) -> JSONValue {
        try expect("{")
        var members: [JSONMember] = []
        var names: Set<[UInt8]> = []
        skipWhitespace()
        if skip("}") { return .object(members) }
        while true {
            skipWhitespace()
            let start = offset
            let name = try string()
            guard names.insert(Array(name.utf8)).inserted else { throw error(.duplicateName, at: start) }
            skipWhitespace()
            try expect(":")
            members.append(JSONMember(name: name, value: try value()))
            skipWhitespace()
            if skip("}") { return .object(members) }
            try expect(",")
        }
    }

    // MARK: - Strings

    private mutating func string() throws(JSONError) -> String {
        let start = offset
        try expect("\"")
        var text: [UInt8] = []
        while !skip("\"") {
            guard let byte = next else { throw error(.unexpectedEnd) }
            if byte == UInt8(ascii: "\\") {
                text += String(try escape()).utf8
            } else {
                guard byte >= 0x20 else { throw error(.invalidString) }
                text.append(byte)
                offset += 1
            }
        }
        guard let string = String(validating: text, as: UTF8.self) else { throw error(.invalidUnicode, at: start) }
        return string
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        let start = offset
        try expect("\\")
        guard let byte = next else { throw error(.unexpectedEnd) }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape(from: start)
        default: throw error(.invalidString, at: start)
        }
    }

    /// Reads the rest of one escape, or of two that are a surrogate pair, after `\u`.
    private mutating func unicodeEscape(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), skip("\\"), skip("u") else { throw error(.invalidUnicode, at: start) }
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second),
            let scalar = Unicode.Scalar(0x10000 + UInt32(first & 0x3FF) << 10 + UInt32(second & 0x3FF))
        else { throw error(.invalidUnicode, at: start) }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next else { throw error(.unexpectedEnd) }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw error(.invalidString) }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }

    // MARK: - Numbers

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = offset
        _ = skip("-")
        if !skip("0") { try digits() }
        var isInteger = true
        if skip(".") {
            isInteger = false
            try digits()
        }
        if skip("e") || skip("E") {
            isInteger = false
            if !skip("-") { _ = skip("+") }
            try digits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        if isInteger, let integer = UInt64(text) { return .unsigned(integer) }
        guard let double = Double(text), double.isFinite else { throw error(.invalidNumber, at: start) }
        return .double(double)
    }

    /// Skips one or more digits.
    private mutating func digits() throws(JSONError) {
        let start = offset
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
        guard offset > start else { throw error(next == nil ? .unexpectedEnd : .invalidNumber) }
    }
}
