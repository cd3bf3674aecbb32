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
