import MartletWire

/// Every field of a body, for showing.
struct FieldTree {
    /// One field.
    struct Field {
        var tag: Tag
        /// The name in the specification, or the number in hexadecimal.
        var name: String
        /// In how many containers it is.
        var depth: Int
        /// Bytes of the value.
        var byteCount: Int
        /// `nil` for a container, whose fields follow.
        var value: FieldValue?
    }

    /// The fields in the order of the bytes, what is in a container right behind it.
    var fields: [Field] = []

    /// The fields of a body; none of one whose structure is wrong.
    init(_ body: [UInt8], showingSecrets: Bool) {
        guard let tree = try? TLVTree(parsing: body.rawBytes) else { return }
        var work = tree.nodes.reversed().map { (node: $0, depth: 0, isContent: false) }
        while let next = work.popLast() {
            let tag = next.node.tag
            // Inside content only the numbers of the registry's own range mean what it says.
            let isKnown = !next.isContent || (0x0200...0x02FF).contains(tag.rawValue)
            let name = isKnown ? tag.description : hex(tag.rawValue, digits: 4)
            switch next.node.value {
            case .bytes(let bytes):
                let shape = isKnown ? FieldShape(tag) : .bytes
                let value = shape.value(bytes, showingSecrets: showingSecrets)
                fields.append(Field(tag: tag, name: name, depth: next.depth, byteCount: bytes.count, value: value))
            case .children(let children):
                let byteCount = TLVTree(children).encode().count
                fields.append(Field(tag: tag, name: name, depth: next.depth, byteCount: byteCount, value: nil))
                let isContent = next.isContent || tag == .content
                work += children.reversed().map { (node: $0, depth: next.depth + 1, isContent: isContent) }
            }
        }
    }

    /// A line for each, indented.
    var lines: [String] {
        fields.map { field in
            let indent = String(repeating: "  ", count: field.depth)
            let number = hex(field.tag.rawValue, digits: 4)
            let name = field.name == number ? "" : " \(field.name)"
            return "\(indent)\(number)\(name)" + (field.value.map { ": \($0.text)" } ?? "")
        }
    }

    /// For machines: a list, and lists in it for containers.
    var json: JSONLine {
        var rest = fields[...]
        return Self.level(&rest, depth: 0)
    }

    /// As deep as a body nests, which is bounded.
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
