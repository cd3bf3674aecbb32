/// The frame that refuses a hello and ends the connection (W-38).
public struct Reject: FrameBody {
    /// The type `reject`, 0x4003.
    public static let type = FrameType.reject

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
