/// The bounds up to which a relay keeps the messages of a room; nil for a bound that does not exist or is not reported
///
public struct RoomRetention: Hashable, Sendable {
    /// The age of the oldest messages, in milliseconds.
    public var maxAge: UInt64?
    /// The number of messages.
    public var maxCount: UInt64?
    /// The size of the messages, in bytes of their bodies.
    public var maxByteCount: UInt64?

    /// Creates bounds.
    public init(maxAge: UInt64? = nil, maxCount: UInt64? = nil, maxByteCount: UInt64? = nil) {
        self.maxAge = maxAge
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
    }

    /// The bounds, with those of others for bounds that do not exist.
    package func completed(by others: RoomRetention) -> RoomRetention {
        RoomRetention(
            maxAge: maxAge ?? others.maxAge, maxCount: maxCount ?? others.maxCount,
            maxByteCount: maxByteCount ?? others.maxByteCount)
    }

    /// Creates the bounds in the content of the response to `head`.
    ///
    /// - Throws: `duplicateField`, `invalidValue`, `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or `unknownCriticalTag`.
    package init(parsing content: [UInt8]) throws(WireError) {
        var reader = try TLVReader(wholeBody: content.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .maxAge: try maxAge.fill(.maxAge, field.uint64())
            case .maxCount: try maxCount.fill(.maxCount, field.uint64())
            case .maxByteCount: try maxByteCount.fill(.maxByteCount, field.uint64())
            default: try field.skip()
            }
        }
    }

    /// The bytes of the fields.
    package var fields: [UInt8] {
        var writer = TLVWriter()
        if let maxAge { writer.append(.maxAge, uint64: maxAge) }
        if let maxCount { writer.append(.maxCount, uint64: maxCount) }
        if let maxByteCount { writer.append(.maxByteCount, uint64: maxByteCount) }
        return writer.bytes
    }
}
