/// The body of one frame type. Each implementation parses and encodes its layout.
///
/// Parsers accept fields in any order, skip unknown tags and refuse unknown critical ones (W-28). Encoders use one
/// order, so equal values have equal bytes.
@usableFromInline
package protocol FrameBody: Equatable, Sendable {
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
    @inlinable
    package func encode() -> [UInt8] {
        var writer = TLVWriter()
        encode(into: &writer)
        return writer.bytes
    }
}

extension Frame {
    /// Returns a frame of an unknown type.
    static func unknown(checking type: FrameType) throws(WireError) -> Frame {
        if type.isCritical { throw .unknownCriticalFrame(type) }
        return .unknown(type)
    }
}

extension Request {
    /// Returns the correlation in a body with a valid structure, even if another value is invalid; nil if there is
    /// none. A response that refuses a request identifies it by this number.
    package static func correlation(in body: RawSpan) -> UInt64? {
        var reader = TLVReader(body)
        while let field = try? reader.next() {
            if field.tag == .correlation { return try? field.uint64() }
        }
        return nil
    }
}
