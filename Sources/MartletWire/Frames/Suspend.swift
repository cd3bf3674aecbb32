/// Asks the other side to hold a session's frames until ``Resume`` (W-58).
public struct Suspend: FrameBody {
    /// `suspend`, 0x5005.
    public static let type = FrameType.suspend

    /// A request to hold.
    public init() {}

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() { try field.skip() }
    }

    /// Appends nothing: the body is empty.
    public func encode(into writer: inout TLVWriter) {}
}
