/// The content of a request or a response that is a list of fields. Parsers and encoders are those of a ``FrameBody``.
package protocol FieldList: Equatable, Sendable {
    /// Creates a value from all fields.
    ///
    /// - Throws: `WireError.missingField`, `.duplicateField`, `.invalidValue`, `.unknownCriticalTag`, `.tooManyTLVs`,
    ///   `.tlvTooDeep` or `.malformedTLV`.
    init(parsing body: RawSpan) throws(WireError)

    /// Appends the fields.
    func encode(into writer: inout TLVWriter)
}

extension FieldList {
    /// Returns the bytes of the fields.
    package func encode() -> [UInt8] {
        var writer = TLVWriter()
        encode(into: &writer)
        return writer.bytes
    }
}
