/// The frame that requests a pong, to verify that the peer is alive and to measure the round-trip time (W-70).
public struct Ping: FrameBody {
    /// The type `ping`, 0x3001.
    public static let type = FrameType.ping

    /// The number that identifies the ping. The pong repeats it.
    public var nonce: UInt64

    /// Creates the frame.
    public init(nonce: UInt64) { self.nonce = nonce }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
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

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
    }
}
