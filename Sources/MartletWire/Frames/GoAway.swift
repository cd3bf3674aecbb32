/// The last frame on a connection that its sender ends: after an error, before a restart, or to send the peer
/// elsewhere (W-43).
public struct GoAway: FrameBody {
    /// `goaway`, 0x4004.
    public static let type = FrameType.goaway

    /// Why, and what next.
    public var notice: Notice

    /// A farewell.
    public init(_ notice: Notice) { self.notice = notice }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        notice = try Notice(parsing: body)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) { notice.encode(into: &writer) }
}
