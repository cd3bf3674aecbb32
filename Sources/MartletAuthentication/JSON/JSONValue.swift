/// A value of a JSON text (RFC 8259 §3).
package indirect enum JSONValue: Equatable, Sendable {
    /// The members in the order of the text. Names are unique.
    case object([JSONMember])
    case array([JSONValue])
    case string(String)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    /// A larger one that fits.
    case unsigned(UInt64)
    /// Any other number; it is finite.
    case double(Double)
    case bool(Bool)
    case null

    /// The members of an object; nil for other values.
    package var members: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The elements of an array; nil for other values.
    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text of a string; nil for other values.
    package var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// A number without sign, fraction and exponent; nil for other values.
    package var unsigned: UInt64? {
        switch self {
        case .integer(let integer): UInt64(exactly: integer)
        case .unsigned(let integer): integer
        default: nil
        }
    }

    /// The texts of an array of strings; nil for other values.
    var strings: [String]? {
        guard let elements else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }
}

/// A member of an object.
package struct JSONMember: Equatable, Sendable {
    package let name: String
    package let value: JSONValue
}

extension [JSONMember] {
    /// The value of the member with this name.
    package subscript(name: String) -> JSONValue? {
        first { $0.name.hasSameBytes(as: name) }?.value
    }
}

extension String {
    /// Whether both strings have the same UTF-8. JSON and JOSE compare strings without normalization (RFC 8259 §8.3,
    /// RFC 7515 §5.3), unlike `==`.
    func hasSameBytes(as other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}
