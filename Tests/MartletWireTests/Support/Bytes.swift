import MartletWire

/// The test library also declares a type `Tag`.
typealias Tag = MartletWire.Tag

/// Returns the bytes of hexadecimal digits, with blanks ignored.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// A TLV of a body with its encoded bytes, valid or not.
struct Field: Equatable {
    var tag: Tag
    var value: [UInt8]

    init(_ tag: Tag, _ value: [UInt8]) {
        self.tag = tag
        self.value = value
    }

    init(_ tag: Tag, holding fields: [Field]) {
        self.init(tag, bytes(of: fields))
    }

    init(_ tag: Tag, _ number: some FixedWidthInteger & BitwiseCopyable) {
        var value: [UInt8] = []
        value.append(bigEndian: number)
        self.init(tag, value)
    }
}

/// Returns the outermost fields of a body.
func fields(of body: [UInt8]) throws(WireError) -> [Field] {
    var fields: [Field] = []
    var reader = TLVReader(body.rawBytes)
    while let view = try reader.next() { fields.append(Field(view.tag, view.bytes())) }
    return fields
}

/// Returns the body with these fields.
func bytes(of fields: [Field]) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in fields {
        bytes.append(bigEndian: field.tag.rawValue)
        bytes.append(bigEndian: UInt32(field.value.count))
        bytes.append(contentsOf: field.value)
    }
    return bytes
}

extension Frame {
    /// Parses a frame from a body with these fields.
    static func parse(_ type: FrameType, _ fields: [Field]) throws(WireError) -> Frame {
        try parse(type: type, body: bytes(of: fields).rawBytes)
    }
}

extension FrameBody {
    /// Parses a frame from a body with these fields.
    init(_ fields: [Field]) throws(WireError) {
        try self.init(parsing: bytes(of: fields).rawBytes)
    }
}

extension Tag {
    /// The tag of an unknown leaf.
    static let unknown = Tag(rawValue: 0x7ABC)
    /// The tag of an unknown container.
    static let unknownContainer = Tag(rawValue: 0x01F0)
    /// The tag of an unknown critical leaf.
    static let unknownCritical = Tag(rawValue: 0xFABC)
}
