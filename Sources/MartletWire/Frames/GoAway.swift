/// The last frame on a connection that its sender ends: after an error, before a restart, or to redirect the peer
/// (W-43).
public struct GoAway: FrameBody {
    /// The type `goaway`, 0x4004.
    public static let type = FrameType.goaway

    /// The reason, and the next step of the peer.
    public var notice: Notice

    /// Creates the frame.
    public init(_ notice: Notice) { self.notice = notice }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        notice = try Notice(parsing: body)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) { notice.encode(into: &writer) }
}
