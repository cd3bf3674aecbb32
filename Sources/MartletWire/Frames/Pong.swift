/// The frame that answers a ping (W-70).
public struct Pong: FrameBody {
    /// The type `pong`, 0x3002.
    public static let type = FrameType.pong

    /// The number of the ping.
    public var nonce: UInt64
    /// The timestamp of the ping, and the duration until the answer.
    public var echo: Echo
    /// The duration over which the clients of the server spread their attempts to reconnect, in whole milliseconds; nil
    /// from a client.
    public var reconnectSpread: Duration?

    /// Creates the frame. The spread is rounded down to milliseconds.
    public init(nonce: UInt64, echo: Echo, reconnectSpread: Duration? = nil) {
        self.nonce = nonce
        self.echo = echo
        self.reconnectSpread = reconnectSpread?.roundedDown(to: .milliseconds)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var nonce: UInt64?
        var echo: Echo?
        var reconnectSpread: Duration?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .nonce: try nonce.fill(.nonce, field.uint64())
            case .echo: try echo.fill(.echo, field.echo())
            case .reconnectSpread: try reconnectSpread.fill(.reconnectSpread, field.duration(.milliseconds))
            default: try field.skip()
            }
        }
        self.init(
            nonce: try nonce.required(.nonce), echo: try echo.required(.echo), reconnectSpread: reconnectSpread)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
        writer.append(.echo, echo: echo)
        if let reconnectSpread { writer.append(.reconnectSpread, duration: reconnectSpread, .milliseconds) }
    }
}
