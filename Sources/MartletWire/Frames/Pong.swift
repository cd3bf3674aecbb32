/// Answers a ping (W-70).
public struct Pong: FrameBody {
    /// `pong`, 0x3002.
    public static let type = FrameType.pong

    /// The ping's number.
    public var nonce: UInt64
    /// The ping's timestamp and how long the answer took.
    public var echo: Echo

    /// A pong.
    public init(nonce: UInt64, echo: Echo) {
        self.nonce = nonce
        self.echo = echo
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
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

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
        writer.append(.echo, echo: echo)
    }
}
