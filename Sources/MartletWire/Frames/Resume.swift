/// The frame that resumes delivery on a session after ``Suspend`` (W-58).
public struct Resume: FrameBody {
    /// The type `resume`, 0x5006.
    public static let type = FrameType.resume

    /// The cursor from which delivery continues: only higher offsets are delivered. Nil continues where delivery was
    /// suspended.
    public var cursor: UInt64?

    /// Creates the frame.
    public init(cursor: UInt64? = nil) { self.cursor = cursor }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
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

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        if let cursor { writer.append(.cursor, uint64: cursor) }
    }
}
