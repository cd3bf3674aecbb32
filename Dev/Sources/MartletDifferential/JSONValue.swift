/// A JSON value of a vector, or a value for comparison with a vector.
enum JSONValue: Equatable, Decodable {
    case bool(Bool)
    case number(Int)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let list = try? container.decode([JSONValue].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    var number: Int? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    var list: [JSONValue]? {
        guard case .list(let list) = self else { return nil }
        return list
    }

    var isTrue: Bool { self == .bool(true) }

    /// The value with `{"repeat": x, "count": n}` replaced by n copies of a text or a list.
    var expanded: JSONValue {
        switch self {
        case .object(let members):
            if members.count == 2, let count = members["count"]?.number, let unit = members["repeat"] {
                return unit.expanded.repeated(count)
            }
            return .object(members.mapValues(\.expanded))
        case .list(let list): return .list(list.map(\.expanded))
        default: return self
        }
    }

    private func repeated(_ count: Int) -> JSONValue {
        switch self {
        case .text(let text): .text(String(repeating: text, count: count))
        case .list(let list): .list((0..<count).flatMap { _ in list })
        default: self
        }
    }

    /// The bytes of a list of pieces: hexadecimal, `{"repeat": hex, "count": n}`, or `{"nest": tag, "depth": n}`.
    var bytes: [UInt8] {
        (list ?? []).flatMap { piece -> [UInt8] in
            if let hex = piece.text { return Hex.bytes(hex[...]) }
            if let unit = piece["repeat"]?.text, let count = piece["count"]?.number {
                let bytes = Hex.bytes(unit[...])
                return (0..<count).flatMap { _ in bytes }
            }
            guard let tag = piece["nest"]?.text, let depth = piece["depth"]?.number else { return [] }
            return (0..<depth).reversed().flatMap { inner in
                Hex.bytes(tag[...]) + (0..<4).reversed().map { UInt8(truncatingIfNeeded: (6 * inner) >> (8 * $0)) }
            }
        }
    }
}
