/// The frame that opens a session on a room (W-55).
public struct Open: FrameBody {
    /// The type `open`, 0x5001.
    public static let type = FrameType.open

    /// The room.
    public var room: RoomName
    /// The kind of the session.
    public var kind: SessionKind
    /// The cursor: only higher offsets are delivered. The cursor 0 begins with the first offset.
    public var cursor: UInt64
    /// The identity of the log to which the cursor belongs; nil if it is unknown. The cursor counts as 0 in another log
    ///
    public var log: LogID?
    /// The number of the latest messages to begin with, unless the cursor is later; nil to begin at the cursor.
    public var tail: UInt32?
    /// Whether the relay omits messages of the device that opens the session (No Local of MQTT 5 §3.8.3.1).
    public var noLocal: Bool

    /// Creates the frame.
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

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
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

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.sessionKind, uint8: kind.rawValue)
        writer.append(.cursor, uint64: cursor)
        if let log { writer.append(.log, uint64: log.rawValue) }
        if let tail { writer.append(.tail, uint32: tail) }
        if noLocal { writer.append(.noLocal, uint8: 1) }
    }
}
