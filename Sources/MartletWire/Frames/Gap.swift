/// Messages that the reader will not get: they are no longer kept, or the reader was too slow (W-66).
public struct Gap: FrameBody {
    /// `gap`, 0x2004.
    public static let type = FrameType.gap

    /// The offsets that are not available, from 1.
    public let offsets: ClosedRange<UInt64>

    /// A gap.
    ///
    /// - Precondition: offsets start at 1.
    public init(offsets: ClosedRange<UInt64>) {
        precondition(offsets.lowerBound >= 1, "offsets start at 1")
        self.offsets = offsets
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var first: UInt64?
        var upTo: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .first: try first.fill(.first, field.positive())
            case .upTo: try upTo.fill(.upTo, field.positive())
            default: try field.skip()
            }
        }
        let lower = try first.required(.first)
        let upper = try upTo.required(.upTo)
        guard lower <= upper else { throw .invalidValue(.upTo) }
        offsets = lower...upper
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.first, uint64: offsets.lowerBound)
        writer.append(.upTo, uint64: offsets.upperBound)
    }
}
