/// The frame that cancels a request, because its sender no longer waits for the response (S-56).
public struct CancelRequest: FrameBody {
    /// The type `cancel`, 0x6003.
    public static let type = FrameType.cancel

    /// The correlation of the request.
    public var correlation: UInt64

    /// Creates the frame.
    public init(correlation: UInt64) { self.correlation = correlation }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
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

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
    }
}
