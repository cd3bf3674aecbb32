/// The content of the response to a request for a relay's clock, on the session of the link.
package struct RelayTime: Equatable, Sendable {
    /// The method of the request, which has no recipient and no content.
    package static let method = MethodName("time")!

    /// Milliseconds since 1970 by the relay's clock.
    package let wallClock: UInt64

    /// Creates the content.
    package init(wallClock: UInt64) {
        self.wallClock = wallClock
    }

    /// Creates the content from that of a response.
    ///
    /// - Throws: `missingField`, `duplicateField` or `invalidValue`; `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or
    ///   `unknownCriticalTag`.
    package init(parsing content: [UInt8]?) throws(WireError) {
        var wallClock: UInt64?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .acceptedAt: try wallClock.fill(.acceptedAt, field.uint64())
            default: try field.skip()
            }
        }
        self.wallClock = try wallClock.required(.acceptedAt)
    }

    /// The content of the response.
    package var content: [UInt8] {
        var writer = TLVWriter()
        writer.append(.acceptedAt, uint64: wallClock)
        return writer.bytes
    }
}
