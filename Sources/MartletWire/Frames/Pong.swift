/// The frame that answers a ping (W-70).
public struct Pong: FrameBody {
    /// The type `pong`, 0x3002.
    public static let type = FrameType.pong

    /// The number of the ping.
    public var nonce: UInt64
    /// The timestamp of the ping, and the duration until the answer.
    public var echo: Echo

    /// Creates the frame.
    public init(nonce: UInt64, echo: Echo) {
        self.nonce = nonce
        self.echo = echo
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var nonce: UInt64?
        var echo: Echo?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .nonce: try nonce.fill(.nonce, field.uint64())
            case .echo: try echo.fill(.echo, field.echo())
            default: try field.skip()
            }
        }
        self.nonce = try nonce.required(.nonce)
        self.echo = try echo.required(.echo)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
        writer.append(.echo, echo: echo)
    }
}
