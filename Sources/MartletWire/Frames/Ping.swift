/// Asks for a pong: a proof of life, and a measurement of the round trip.
public struct Ping: FrameBody {
    /// `ping`, 0x3001.
    public static let type = FrameType.ping

    /// Told apart by this number, which the pong repeats.
    public var nonce: UInt64

    /// A ping.
    public init(nonce: UInt64) { self.nonce = nonce }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var nonce: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .nonce: try nonce.fill(.nonce, field.uint64())
            default: try field.skip()
            }
        }
        self.nonce = try nonce.required(.nonce)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
    }
}
