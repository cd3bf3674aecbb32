/// A frame's body: one type per ``FrameType``, with its layout read and written in the same file.
///
/// Reading accepts the fields in any order, skips tags it does not know and refuses unknown critical ones. Writing uses
/// one order, so equal values have equal bytes.
public protocol FrameBody: Equatable, Sendable {
    /// The type that a header before this body names.
    static var type: FrameType { get }

    /// Parses a whole body.
    ///
    /// - Throws: `WireError.missingField`, `.duplicateField`, `.invalidValue`, `.unknownCriticalTag`, `.tooManyTLVs`,
    ///   `.tlvTooDeep` or `.malformedTLV`.
    init(parsing body: RawSpan) throws(WireError)

    /// Appends the body's fields.
    func encode(into writer: inout TLVWriter)
}

extension FrameBody {
    /// The body as bytes.
    public func encode() -> [UInt8] {
        var writer = TLVWriter()
        encode(into: &writer)
        return writer.bytes
    }
}
