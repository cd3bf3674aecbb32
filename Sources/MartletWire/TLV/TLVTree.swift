/// A TLV that owns a copy of its value.
package struct TLVNode: Equatable, Sendable {
    /// The value of a node.
    package enum Value: Equatable, Sendable {
        /// The bytes of a leaf.
        case bytes([UInt8])
        /// The TLVs of a container, in order.
        case children([TLVNode])
    }

    /// The tag of the field.
    package let tag: Tag
    /// The bytes of a leaf, or the children of a container.
    package let value: Value

    /// Creates a leaf.
    ///
    /// - Precondition: The tag is not that of a container.
    package init(_ tag: Tag, bytes: [UInt8]) {
        precondition(!tag.isContainer, "the tag is a container's")
        self.tag = tag
        value = .bytes(bytes)
    }

    /// Creates a container.
    ///
    /// - Precondition: The tag is that of a container.
    package init(_ tag: Tag, children: [TLVNode]) {
        precondition(tag.isContainer, "the tag is a leaf's")
        self.tag = tag
        value = .children(children)
    }
}

/// The TLVs of a body as a tree. It preserves all tags, known or not, and their order, so a parsed tree encodes to the
/// same bytes.
package struct TLVTree: Equatable, Sendable {
    /// The TLVs of the outermost level, in order.
    package var nodes: [TLVNode]

    /// Creates a tree with nodes.
    package init(_ nodes: [TLVNode] = []) {
        self.nodes = nodes
    }

    /// Creates a tree with a copy of a body.
    ///
    /// - Throws: The errors of `TLVValidator.validate(_:)`, before anything is copied.
    package init(parsing body: RawSpan) throws(WireError) {
        try TLVValidator.validate(body)
        var level = Level(tag: nil, end: body.byteCount)
        var enclosing: [Level] = []
        var offset = 0
        while true {
            while offset == level.end {
                guard let tag = level.tag, var outer = enclosing.popLast() else {
                    nodes = level.nodes
                    return
                }
                outer.nodes.append(TLVNode(tag, children: level.nodes))
                level = outer
            }
            let tag = Tag(rawValue: body.loadUInt16(at: offset))
            let start = offset + TLVLimits.headByteCount
            let end = start + Int(body.loadUInt32(at: offset + 2))
            if tag.isContainer {
                enclosing.append(level)
                level = Level(tag: tag, end: end)
                offset = start
            } else {
                level.nodes.append(TLVNode(tag, bytes: [UInt8](copying: body.extracting(start..<end))))
                offset = end
            }
        }
    }

    /// A container during parsing: its nodes so far, and the offset of its end.
    private struct Level {
        let tag: Tag?
        let end: Int
        var nodes: [TLVNode] = []
    }

    /// Returns the bytes of the tree.
    package func encode() -> [UInt8] {
        var writer = TLVWriter()
        writer.append(nodes)
        return writer.bytes
    }

    /// The values of all outermost TLVs with a tag, in order.
    package subscript(tag: Tag) -> [TLVNode.Value] {
        nodes.filter { $0.tag == tag }.map { $0.value }
    }
}

extension TLVWriter {
    /// Appends nodes and their children by recursion, whose depth is that of the caller's tree.
    package mutating func append(_ nodes: [TLVNode]) {
        for node in nodes {
            switch node.value {
            case .bytes(let bytes): append(node.tag, bytes: bytes)
            case .children(let children): container(node.tag) { $0.append(children) }
            }
        }
    }
}
