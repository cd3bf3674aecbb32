import MartletDecode
import MartletToolSupport
import MartletWire

extension FieldTree {
    /// The lines of the fields, indented by their depth.
    var lines: [String] {
        fields.map { field in
            let indent = String(repeating: "  ", count: field.depth)
            let number = hex(field.tag.rawValue, digits: 4)
            let name = field.name == number ? "" : " \(field.name)"
            return "\(indent)\(number)\(name)" + (field.value.map { ": \($0.text)" } ?? "")
        }
    }

    /// The list of fields, with a nested list for each container.
    var json: JSONLine {
        var rest = fields[...]
        return Self.level(&rest, depth: 0)
    }

    /// The nesting of a body is bounded, and therefore the recursion.
    private static func level(_ rest: inout ArraySlice<Field>, depth: Int) -> JSONLine {
        var level: [JSONLine] = []
        while let field = rest.first, field.depth == depth {
            rest.removeFirst()
            level.append(
                .object([
                    .init("tag", .count(field.tag.rawValue)), .init("name", .string(field.name)),
                    .init("length", .count(field.byteCount)),
                    field.value.map { .init("value", $0.json) }
                        ?? .init("fields", Self.level(&rest, depth: depth + 1)),
                ]))
        }
        return .array(level)
    }
}

extension DecodedFrame {
    /// Returns the fields of the body; none if the structure is invalid.
    func shownFields(showingSecrets: Bool) -> FieldTree { (try? fields(showingSecrets: showingSecrets)) ?? FieldTree() }
}

extension FieldValue {
    /// The maximum number of bytes of a value that are shown.
    private static let maxShownByteCount = 32

    /// The value as one line of text.
    var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .identifier(let number): hex(number, digits: 16)
        case .text(let text): "\"\(SafeText.line(text))\""
        case .name(let name): name
        case .bytes(let bytes):
            "\(bytes.count) bytes" + (bytes.isEmpty ? "" : " " + Self.digits(bytes.prefix(Self.maxShownByteCount)))
        case .secret(let byteCount): "\(byteCount) bytes, not shown"
        case .list(let values): values.map(\.text).joined(separator: ", ")
        case .record(let members):
            members.filter { $0.value != .list([]) }.map { "\($0.name) \($0.value.text)" }.joined(separator: ", ")
        }
    }

    /// The value as JSON.
    var json: JSONLine {
        switch self {
        case .number(let number): .count(number)
        case .identifier(let number): .string(hex(number, digits: 16))
        case .text(let text), .name(let text): .string(text)
        case .bytes(let bytes): .string(Self.digits(bytes))
        case .secret: .null
        case .list(let values): .array(values.map(\.json))
        case .record(let members): .object(members.map { JSONLine.Member($0.name, $0.value.json) })
        }
    }

    private static func digits(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return text
    }
}
