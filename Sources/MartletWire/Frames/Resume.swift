/// Ends what ``Suspend`` began.
public struct Resume: FrameBody {
    /// `resume`, 0x5006.
    public static let type = FrameType.resume

    /// Deliver offsets greater than this; nil goes on where the session was held.
    public var cursor: UInt64?

    /// A request to go on.
    public init(cursor: UInt64? = nil) { self.cursor = cursor }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var cursor: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .cursor: try cursor.fill(.cursor, field.uint64())
            default: try field.skip()
            }
        }
        self.cursor = cursor
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        if let cursor { writer.append(.cursor, uint64: cursor) }
    }
}
