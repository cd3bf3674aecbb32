/// The content of a request for a page of an account's rooms.
package struct RoomListQuery: Equatable, Sendable {
    /// The maximum number of entries of a page.
    package static let maxCount = 64

    /// The page begins behind this room, in the order of the names' bytes; nil for the first page.
    package let after: RoomName?
    /// The maximum number of entries, 1 to ``maxCount``.
    package let limit: Int

    /// Creates a query. `limit` is lowered to ``maxCount`` and raised to 1.
    package init(after: RoomName? = nil, limit: Int = Self.maxCount) {
        self.after = after
        self.limit = min(max(limit, 1), Self.maxCount)
    }

    /// Creates a query from the content of a request. A higher limit than ``maxCount`` counts as that number.
    ///
    /// - Throws: `missingField`, `duplicateField` or `invalidValue`; `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or
    ///   `unknownCriticalTag`.
    package init(parsing content: [UInt8]?) throws(WireError) {
        var after: RoomName?
        var limit: UInt16?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try after.fill(.room, field.name())
            case .limit: try limit.fill(.limit, field.uint16())
            default: try field.skip()
            }
        }
        let count = try limit.required(.limit)
        guard count >= 1 else { throw .invalidValue(.limit) }
        self.init(after: after, limit: Int(count))
    }

    /// The content of the request.
    package var content: [UInt8] {
        var writer = TLVWriter()
        if let after { writer.append(.room, name: after) }
        writer.append(.limit, uint16: UInt16(limit))
        return writer.bytes
    }
}

/// A page of an account's rooms: the content of the response to a ``RoomListQuery``.
package struct RoomListPage: Equatable, Sendable {
    /// The maximum size of the entries of a page, in bytes with the heads of their fields. A single entry may be
    /// longer.
    package static let maxByteCount = 15 * 1024

    /// The entries in the order of the bytes of the rooms' names.
    package let entries: [RoomEntry]
    /// Whether another page follows, behind the last entry.
    package let hasMore: Bool

    /// Creates a page.
    package init(entries: [RoomEntry], hasMore: Bool) {
        self.entries = entries
        self.hasMore = hasMore
    }

    /// Creates a page from the content of a response.
    ///
    /// - Throws: `missingField`, `duplicateField`, `malformedTLV`, `tlvTooDeep` or `unknownCriticalTag`; `tooManyTLVs`
    ///   if there are more entries than the query permits; `invalidValue` if a field or an entry is not valid, if the
    ///   rooms do not rise or were not requested, or if another page follows none (Specs/hostile.md row 82).
    package init(parsing content: [UInt8]?, answering query: RoomListQuery) throws(WireError) {
        var entries: [RoomEntry] = []
        var hasMore: Bool?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .entry:
                guard field.value.byteCount <= RoomEntry.maxByteCount,
                    let entry = try RoomUpdate(parsing: field.value).entry, entry.membership != .none
                else { throw .invalidValue(.entry) }
                if let last = entries.last?.room ?? query.after, last >= entry.room {
                    throw .invalidValue(.entry)
                }
                try entries.append(entry, limit: query.limit)
            case .hasMore: try hasMore.fill(.hasMore, field.bool())
            default: try field.skip()
            }
        }
        guard hasMore != true || !entries.isEmpty else { throw .invalidValue(.hasMore) }
        self.init(entries: entries, hasMore: hasMore ?? false)
    }

    /// The content of the response: the first entries that fit, at least one. Another page follows if some do not, or
    /// if `hasMore` is set.
    package var content: [UInt8] {
        var writer = TLVWriter()
        var isCut = false
        for (index, entry) in entries.enumerated() {
            let body = RoomUpdate(entry).encode()
            if index > 0, writer.byteCount + TLVLimits.headByteCount + body.count > Self.maxByteCount {
                isCut = true
                break
            }
            writer.append(.entry, bytes: body)
        }
        if hasMore || isCut { writer.append(.hasMore, uint8: 1) }
        return writer.bytes
    }
}
