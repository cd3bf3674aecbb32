/// One TLV with its own copy of the value.
public struct TLVNode: Equatable, Sendable {
    /// What a node holds.
    public enum Value: Equatable, Sendable {
        /// A leaf's bytes.
        case bytes([UInt8])
        /// A container's TLVs, in order.
        case children([TLVNode])
    }

    /// The field's name.
    public let tag: Tag
    /// Bytes under a leaf's tag, children under a container's.
    public let value: Value

    /// A leaf. Traps when the tag is a container's.
    public init(_ tag: Tag, bytes: [UInt8]) {
        precondition(!tag.isContainer, "the tag is a container's")
        self.tag = tag
        value = .bytes(bytes)
    }

    /// A container. Traps when the tag is a leaf's.
    public init(_ tag: Tag, children: [TLVNode]) {
        precondition(tag.isContainer, "the tag is a leaf's")
        self.tag = tag
        value = .children(children)
    }
}

/// A body as an owned tree that keeps every tag, known or not, and their order: what was parsed encodes to the same
/// bytes again.
public struct TLVTree: Equatable, Sendable {
    /// The TLVs of the outermost level, in order.
    public var nodes: [TLVNode]

    /// A tree of these nodes.
    public init(_ nodes: [TLVNode] = []) {
        self.nodes = nodes
    }

    /// Copies a body. Throws what `TLVValidator.validate(_:)` throws, before anything is copied.
    public init(parsing body: RawSpan) throws(WireError) {
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

    /// A container that is being read: what it holds so far and where it ends.
    private struct Level {
        let tag: Tag?
        let end: Int
        var nodes: [TLVNode] = []
    }

    /// The bytes of the whole tree.
    public func encode() -> [UInt8] {
        var writer = TLVWriter()
        writer.append(nodes)
        return writer.bytes
    }

    /// The values of every outermost TLV with that tag, in order.
    public subscript(tag: Tag) -> [TLVNode.Value] {
        nodes.filter { $0.tag == tag }.map(\.value)
    }
}

extension TLVWriter {
    /// Appends nodes and what is in them; recurses as deep as the program built its own tree.
    public mutating func append(_ nodes: [TLVNode]) {
        for node in nodes {
            switch node.value {
            case .bytes(let bytes): append(node.tag, bytes: bytes)
            case .children(let children): container(node.tag) { $0.append(children) }
            }
        }
    }
}
