/// A value that determines the message to which a reply, an edit, a deletion or a reaction refers: the message, its
/// handle, its ID or a reference.
public protocol MessageTarget: Sendable {
    /// The reference to the message.
    var reference: MessageReference { get }
}

extension MessageID: MessageTarget {
    /// The reference to the message, without an offset.
    public var reference: MessageReference { MessageReference(self) }
}

extension MessageReference: MessageTarget {
    /// The reference itself.
    public var reference: MessageReference { self }
}

/// A reference to a message of the same room (M-2).
///
/// The identity determines the message, in every log of the room. The offset only helps to find it.
public struct MessageReference: Hashable, Sendable, CustomStringConvertible {
    /// The identity of the message.
    public let id: MessageID
    /// The offset of the message, at least 1; nil if it is unknown.
    public let offset: UInt64?

    /// The number of bytes before the name of the account.
    private static let headByteCount = 24

    /// Creates a reference. The offset 0 is unknown.
    public init(_ id: MessageID, offset: UInt64? = nil) {
        self.id = id
        self.offset = offset == 0 ? nil : offset
    }

    /// Creates a reference from a `target` field.
    ///
    /// - Throws: `invalidValue` if the value is too short, the counter is 0, or the name is not valid.
    init(_ field: TLVView) throws(WireError) {
        let value = field.value
        guard value.byteCount > Self.headByteCount, value.loadUInt64(at: 8) > 0 else { throw .invalidValue(field.tag) }
        let name = TLVView(tag: field.tag, value: value.extracting(droppingFirst: Self.headByteCount))
        self.init(
            MessageID(
                sender: try name.name(), device: DeviceID(rawValue: value.loadUInt64(at: 0)),
                counter: value.loadUInt64(at: 8)),
            offset: value.loadUInt64(at: 16))
    }

    /// Appends the field.
    func encode(into writer: inout TLVWriter) {
        writer.appendHead(.target, followedBy: Self.headByteCount + id.sender.text.utf8.count)
        writer.appendRaw(id.device.rawValue)
        writer.appendRaw(id.counter)
        writer.appendRaw(offset ?? 0)
        id.sender.text.withUTF8Bytes { writer.append(encoded: $0) }
    }

    /// The identity, followed by the offset if it is known.
    public var description: String {
        offset.map { "\(id)@\($0)" } ?? "\(id)"
    }
}
