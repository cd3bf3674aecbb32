public import MartletWire

/// The fields of a body, as a tree in the order of the bytes (Specs/wire.md §4).
///
/// ```swift
/// for field in try FieldTree(parsing: body).fields {
///     print(field.depth, field.name, field.value as Any)
/// }
/// ```
public struct FieldTree: Equatable, Sendable {
    /// A field of a body.
    public struct Field: Equatable, Sendable {
        /// The tag.
        public var tag: Tag
        /// The name in the specification, or the number in hexadecimal.
        public var name: String
        /// The number of containers around the field, at most `TLVLimits.maxDepth`.
        public var depth: Int
        /// The length of the value, in bytes.
        public var byteCount: Int
        /// The value; nil for a container, whose fields follow with a greater depth.
        public var value: FieldValue?
    }

    /// The fields. A container precedes its contents.
    public var fields: [Field] = []

    /// Creates a tree without fields.
    public init() {}

    /// Parses an inflated body.
    ///
    /// - Parameters:
    ///   - body: The body, within the limit of a frame. A tree has at most `TLVLimits.maxCount` fields.
    ///   - showingSecrets: Whether the tree contains the bytes of credentials and resume tokens.
    /// - Throws: `WireError.malformedTLV`, `tlvTooDeep` or `tooManyTLVs` for an invalid
    ///   structure. A value with another form than that of its tag causes no error.
    public init(parsing body: [UInt8], showingSecrets: Bool = false) throws(WireError) {
        let tree = try TLVTree(parsing: body.rawBytes)
        var work = tree.nodes.reversed().map { (node: $0, depth: 0, isContent: false) }
        while let next = work.popLast() {
            let tag = next.node.tag
            // Inside content only tags of its own range have the meaning of the registry.
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
}
