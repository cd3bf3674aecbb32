/// Opens a session on a room (W-55).
public struct Open: FrameBody {
    /// `open`, 0x5001.
    public static let type = FrameType.open

    /// The room.
    public var room: RoomName
    /// The session's preset.
    public var kind: SessionKind
    /// Deliver offsets greater than this; 0 is from the start.
    public var cursor: UInt64
    /// The log that the cursor belongs to; nil when it is not known. In another log the cursor counts as 0.
    public var log: LogID?
    /// Start this many messages before the room's head, or at the cursor where that is later.
    public var tail: UInt32?
    /// Whether messages of the opening device are not sent back to it (No Local of MQTT 5 §3.8.3.1).
    public var noLocal: Bool

    /// A request to open.
    public init(
        room: RoomName, kind: SessionKind = .chat, cursor: UInt64, log: LogID? = nil, tail: UInt32? = nil,
        noLocal: Bool = false
    ) {
        self.room = room
        self.kind = kind
        self.cursor = cursor
        self.log = log
        self.tail = tail
        self.noLocal = noLocal
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var room: RoomName?
        var kind: SessionKind?
        var cursor: UInt64?
        var log: LogID?
        var tail: UInt32?
        var noLocal: Bool?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .sessionKind: try kind.fill(.sessionKind, field.sessionKind())
            case .cursor: try cursor.fill(.cursor, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .tail: try tail.fill(.tail, field.uint32())
            case .noLocal: try noLocal.fill(.noLocal, field.bool())
            default: try field.skip()
            }
        }
        self.room = try room.required(.room)
        self.kind = try kind.required(.sessionKind)
        self.cursor = try cursor.required(.cursor)
        self.log = log
        self.tail = tail
        self.noLocal = noLocal ?? false
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.sessionKind, uint8: kind.rawValue)
        writer.append(.cursor, uint64: cursor)
        if let log { writer.append(.log, uint64: log.rawValue) }
        if let tail { writer.append(.tail, uint32: tail) }
        if noLocal { writer.append(.noLocal, uint8: 1) }
    }
}
