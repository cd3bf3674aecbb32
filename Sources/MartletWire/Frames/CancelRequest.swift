/// Withdraws a request: its sender no longer waits.
public struct CancelRequest: FrameBody {
    /// `cancel`, 0x6003.
    public static let type = FrameType.cancel

    /// The request's number.
    public var correlation: UInt64

    /// A withdrawal.
    public init(correlation: UInt64) { self.correlation = correlation }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
    }
}
