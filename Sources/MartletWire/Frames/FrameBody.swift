/// The body of one frame type. Each implementation parses and encodes its layout.
///
/// Parsers accept fields in any order, skip unknown tags and refuse unknown critical ones (W-28). Encoders use one
/// order, so equal values have equal bytes.
public protocol FrameBody: Equatable, Sendable {
    /// The type in the header of the frame.
    static var type: FrameType { get }

    /// Creates a value from a complete body.
    ///
    /// - Throws: `WireError.missingField`, `.duplicateField`, `.invalidValue`, `.unknownCriticalTag`, `.tooManyTLVs`,
    ///   `.tlvTooDeep` or `.malformedTLV`.
    init(parsing body: RawSpan) throws(WireError)

    /// Appends the fields of the body.
    func encode(into writer: inout TLVWriter)
}

extension FrameBody {
    /// Returns the encoded body.
    public func encode() -> [UInt8] {
        var writer = TLVWriter()
        encode(into: &writer)
        return writer.bytes
    }
}
