/// The frame that accepts an `open` (W-56).
public struct Opened: FrameBody {
    /// The type `opened`, 0x5002.
    public static let type = FrameType.opened
    /// The maximum number of members in a frame.
    public static let maxMemberCount = 256

    /// The highest offset of the room's log; 0 if the log is empty.
    public let head: UInt64
    /// The lowest offset that the log still keeps.
    public let first: UInt64
    /// The identity of the room's log; nil from a relay that does not send it.
    public let log: LogID?
    /// The highest offset up to which the log that `open` names has the messages of this log; nil if `open` names this
    /// log, none or an unknown one.
    public let upTo: UInt64?
    /// The highest counter that the relay has taken from the device in the room; nil if there is none.
    public let counter: UInt64?
    /// The accounts of the room's members, at most 256.
    public let members: [AccountName]

    /// Creates the frame.
    ///
    /// - Precondition: There are at most ``maxMemberCount`` members.
    public init(
        head: UInt64, first: UInt64, log: LogID? = nil, upTo: UInt64? = nil, counter: UInt64? = nil,
        members: [AccountName] = []
    ) {
        precondition(members.count <= Self.maxMemberCount, "more members than a frame may name")
        self.head = head
        self.first = first
        self.log = log
        self.upTo = upTo
        self.counter = counter
        self.members = members
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var head: UInt64?
        var first: UInt64?
        var log: LogID?
        var upTo: UInt64?
        var counter: UInt64?
        var members: [AccountName] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .head: try head.fill(.head, field.uint64())
            case .first: try first.fill(.first, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .upTo: try upTo.fill(.upTo, field.uint64())
            case .counter: try counter.fill(.counter, field.positive())
            case .member: try members.append(field.name(), limit: Self.maxMemberCount)
            default: try field.skip()
            }
        }
        self.head = try head.required(.head)
        self.first = try first.required(.first)
        self.log = log
        self.upTo = upTo
        self.counter = counter
        self.members = members
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.head, uint64: head)
        writer.append(.first, uint64: first)
        if let log { writer.append(.log, uint64: log.rawValue) }
        if let upTo { writer.append(.upTo, uint64: upTo) }
        if let counter { writer.append(.counter, uint64: counter) }
        for member in members { writer.append(.member, name: member) }
    }
}
