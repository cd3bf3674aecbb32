/// The frame that requests the peer to suspend delivery on a session until ``Resume`` (W-58).
public struct Suspend: FrameBody {
    /// The type `suspend`, 0x5005.
    public static let type = FrameType.suspend

    /// Creates the frame.
    public init() {}

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() { try field.skip() }
    }

    /// Appends nothing, because the body is empty.
    public func encode(into writer: inout TLVWriter) {}
}
