/// The answer to a hello that is refused: the connection ends (W-38).
public struct Reject: FrameBody {
    /// `reject`, 0x4003.
    public static let type = FrameType.reject

    /// Why, and what next.
    public var notice: Notice

    /// A refusal.
    public init(_ notice: Notice) { self.notice = notice }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        notice = try Notice(parsing: body)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) { notice.encode(into: &writer) }
}
