/// The content of a request for a page of a room's history.
package struct HistoryQuery: Equatable, Sendable {
    /// The method of the request, which has no recipient.
    package static let method = MethodName("room.history")!
    /// The maximum number of messages of a page.
    package static let maxCount = 256

    /// The place of the page in the log.
    package enum Position: Hashable, Sendable {
        /// The newest messages with lower offsets.
        case before(UInt64)
        /// The oldest messages with higher offsets.
        case after(UInt64)
        /// The messages from the first one that was accepted at or after a time, in milliseconds since 1970 by the
        /// relay's clock.
        case acceptedFrom(UInt64)
    }

    /// The place of the page.
    package let position: Position
    /// The maximum number of messages, 1 to ``maxCount``.
    package let limit: Int
    /// The identity of the log to which an offset belongs; nil if it is unknown.
    package let log: LogID?

    /// Creates a query. `limit` is lowered to ``maxCount`` and raised to 1.
    package init(_ position: Position, limit: Int, log: LogID? = nil) {
        self.position = position
        self.limit = min(max(limit, 1), Self.maxCount)
        self.log = log
    }

    /// Creates a query from the content of a request. A higher limit than ``maxCount`` counts as that number.
    ///
    /// - Throws: `missingField`, `duplicateField` or `invalidValue`; `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or
    ///   `unknownCriticalTag`. Of the fields of a position, more than one is `duplicateField`.
    package init(parsing content: [UInt8]?) throws(WireError) {
        var position: Position?
        var limit: UInt16?
        var log: LogID?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .before: try position.fill(.before, .before(field.uint64()))
            case .cursor: try position.fill(.cursor, .after(field.uint64()))
            case .acceptedAt: try position.fill(.acceptedAt, .acceptedFrom(field.uint64()))
            case .limit: try limit.fill(.limit, field.uint16())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            default: try field.skip()
            }
        }
        let count = try limit.required(.limit)
        guard count >= 1 else { throw .invalidValue(.limit) }
        self.init(try position.required(.cursor), limit: Int(count), log: log)
    }

    /// The content of the request.
    package var content: [UInt8] {
        var writer = TLVWriter()
        switch position {
        case .before(let offset): writer.append(.before, uint64: offset)
        case .after(let offset): writer.append(.cursor, uint64: offset)
        case .acceptedFrom(let time): writer.append(.acceptedAt, uint64: time)
        }
        writer.append(.limit, uint16: UInt16(limit))
        if let log { writer.append(.log, uint64: log.rawValue) }
        return writer.bytes
    }
}
