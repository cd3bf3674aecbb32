/// A value of an application in a content (M-14): what objects, arrays, texts, numbers and bytes can express.
///
/// Each value has exactly one encoding: the members of an object are in the order of their keys' bytes (M-15), and an
/// integer has the lowest type that holds it (M-16).
public indirect enum ContentValue: Hashable, Sendable {
    /// The absence of a value.
    case null
    /// A truth value.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// An integer from 2⁶³. A lower one is encoded as ``integer(_:)``.
    case unsigned(UInt64)
    /// A floating-point number.
    case double(Double)
    /// A text, which may be empty.
    case text(String)
    /// Bytes.
    case data([UInt8])
    /// Values in order.
    case array([ContentValue])
    /// Values by key, each key once, in any order.
    case object([Member])

    /// A value of an object.
    public struct Member: Hashable, Sendable {
        /// The key, at most ``ContentValue/maxKeyByteCount`` bytes. Two keys are equal when their bytes are equal.
        public var key: String
        /// The value.
        public var value: ContentValue

        /// Creates a member.
        public init(_ key: String, _ value: ContentValue) {
            self.key = key
            self.value = value
        }
    }

    /// The maximum number of nested objects and arrays (M-17). The content is the first of the containers of a body.
    public static let maxDepth = TLVLimits.maxDepth - 1
    /// The maximum number of bytes of a key.
    public static let maxKeyByteCount = 256

    /// The value of a key in an object; nil for any other value and for a missing key.
    public subscript(key: String) -> ContentValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.hasSameUTF8(as: key) }?.value
    }

    // MARK: Decoding

    /// Creates a value from a content, which contains it and nothing else (M-14).
    ///
    /// - Throws: `missingField`, `duplicateField`, `invalidValue` or `unknownCriticalTag` for an invalid value;
    ///   `malformedTLV`, `tlvTooDeep` or `tooManyTLVs` for an invalid structure.
    public init(content: RawSpan) throws(WireError) {
        try ContentRules.check(content)
        var reader = TLVReader(content)
        guard let field = try reader.next() else { throw .missingField(.content) }
        self = try Self.value(of: field)
        if let surplus = try reader.next() { throw .duplicateField(surplus.tag) }
    }

    /// Returns the value of a field. The recursion has the depth of the verified structure, at most `maxDepth`.
    private static func value(of field: TLVView) throws(WireError) -> ContentValue {
        switch field.tag {
        case .null:
            guard field.value.byteCount == 0 else { throw .invalidValue(.null) }
            return .null
        case .bool: return .bool(try field.bool())
        case .integer: return .integer(Int64(bitPattern: try field.uint64()))
        case .unsigned:
            let number = try field.uint64()
            guard number > Int64.max else { throw .invalidValue(.unsigned) }
            return .unsigned(number)
        case .double: return .double(Double(bitPattern: try field.uint64()))
        case .text: return .text(try field.string(maxByteCount: .max))
        case .data: return .data(field.bytes())
        case .array:
            var values: [ContentValue] = []
            var reader = field.reader()
            while let element = try reader.next() { values.append(try value(of: element)) }
            return .array(values)
        case .object: return .object(try members(of: field))
        default:
            try field.skip()
            throw .invalidValue(field.tag)
        }
    }

    private static func members(of field: TLVView) throws(WireError) -> [Member] {
        var members: [Member] = []
        var reader = field.reader()
        while let first = try reader.next() {
            guard first.tag == .key else { throw .missingField(.key) }
            let key = try first.string(maxByteCount: maxKeyByteCount)
            if let last = members.last?.key, !last.utf8.lexicographicallyPrecedes(key.utf8) {
                throw last.hasSameUTF8(as: key) ? .duplicateField(.key) : .invalidValue(.key)
            }
            guard let element = try reader.next() else { throw .missingField(.content) }
            members.append(Member(key, try value(of: element)))
        }
        return members
    }

    // MARK: Encoding

    /// Returns the bytes of a content that contains the value.
    ///
    /// - Throws: `duplicateField` if a key is repeated; `tlvTooDeep` beyond ``maxDepth``; `tooManyTLVs` beyond
    ///   `ContentRules.maxTLVCount`; `invalidValue` if a key is too long.
    public func encode() throws(WireError) -> [UInt8] {
        var writer = TLVWriter()
        try encode(into: &writer)
        let bytes = writer.bytes
        try ContentRules.check(bytes.rawBytes)
        return bytes
    }

    /// Appends the value.
    func encode(into writer: inout TLVWriter, depth: Int = 0) throws(WireError) {
        switch self {
        case .null: writer.append(.null, bytes: [])
        case .bool(let value): writer.append(.bool, uint8: value ? 1 : 0)
        case .integer(let value): writer.append(.integer, uint64: UInt64(bitPattern: value))
        case .unsigned(let value): writer.append(value > Int64.max ? .unsigned : .integer, uint64: value)
        case .double(let value): writer.append(.double, uint64: value.bitPattern)
        case .text(let value): writer.append(.text, string: value)
        case .data(let value): writer.append(.data, bytes: value)
        case .array(let values):
            guard depth < Self.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
            try writer.container(.array) { writer throws(WireError) in
                for value in values { try value.encode(into: &writer, depth: depth + 1) }
            }
        case .object(let members):
            guard depth < Self.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            try writer.container(.object) { writer throws(WireError) in
                var last: String?
                for member in sorted {
                    if let last, last.hasSameUTF8(as: member.key) { throw .duplicateField(.key) }
                    guard member.key.utf8.count <= Self.maxKeyByteCount else { throw .invalidValue(.key) }
                    last = member.key
                    writer.append(.key, string: member.key)
                    try member.value.encode(into: &writer, depth: depth + 1)
                }
            }
        }
    }
}
