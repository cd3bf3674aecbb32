/// The frame that reports offsets that the reader does not receive, because the log no longer keeps them or the reader
/// was too slow (W-66).
package struct Gap: FrameBody {
    /// The type `gap`, 0x2004.
    package static let type = FrameType.gap

    /// The offsets, at least 1.
    package let offsets: ClosedRange<UInt64>

    /// Creates the frame.
    ///
    /// - Precondition: The offsets start at 1.
    package init(offsets: ClosedRange<UInt64>) {
        precondition(offsets.lowerBound >= 1, "offsets start at 1")
        self.offsets = offsets
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
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

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.first, uint64: offsets.lowerBound)
        writer.append(.upTo, uint64: offsets.upperBound)
    }
}
