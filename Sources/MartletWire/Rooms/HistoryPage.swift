/// A page of a room's history: the content of the response to a ``HistoryQuery``.
package struct HistoryPage: Equatable, Sendable {
    /// The maximum size of the messages of a page, in bytes with the heads of their fields. A single message may be
    /// longer. A response with this content is one fragment, because it delays the later messages of its session.
    package static let maxByteCount = 15 * 1024

    /// The number of bytes that a message takes in a page.
    package static func byteCount(ofMessage bodyByteCount: Int) -> Int { TLVLimits.headByteCount + bodyByteCount }

    /// The highest offset of the log; 0 if it never had a message.
    package let head: UInt64
    /// The lowest offset that the relay still keeps.
    package let first: UInt64
    /// The identity of the log; nil from a relay that does not send it.
    package let log: LogID?
    /// The messages in the order of their offsets, without those that this version cannot read.
    package let messages: [Message]
    /// The lowest and the highest offset of the page; nil if it has no messages.
    package let offsets: ClosedRange<UInt64>?
    /// Whether the log has more messages in the direction of the query.
    package let hasMore: Bool

    /// Creates a page from the content of a response.
    ///
    /// A message of which only the offset is valid is left out, like a message that is delivered.
    ///
    /// - Throws: `missingField`, `duplicateField`, `malformedTLV`, `tlvTooDeep` or `unknownCriticalTag`; `tooManyTLVs`
    ///   if there are more messages than the query permits; `invalidValue` if their offsets do not rise, were not
    ///   requested or are not in the log, or if they are of another log than the query's (R-85, Specs/hostile.md row
    ///   75).
    package init(parsing content: [UInt8]?, answering query: HistoryQuery) throws(WireError) {
        var head: UInt64?
        var first: UInt64?
        var log: LogID?
        var messages: [Message] = []
        var count = 0
        var offsets: ClosedRange<UInt64>?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .head: try head.fill(.head, field.uint64())
            case .first: try first.fill(.first, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .message:
                count += 1
                guard count <= query.limit else { throw .tooManyTLVs(limit: query.limit) }
                guard let offset = MessageView.offset(in: field.value), offset > offsets?.upperBound ?? 0 else {
                    throw .invalidValue(.message)
                }
                offsets = (offsets?.lowerBound ?? offset)...offset
                if let message = try? Message(parsing: field.value) { messages.append(message) }
            default: try field.skip()
            }
        }
        self.head = try head.required(.head)
        self.first = try first.required(.first)
        self.log = log
        self.messages = messages
        self.offsets = offsets
        guard let offsets else {
            hasMore = false
            return
        }
        guard offsets.lowerBound >= self.first, offsets.upperBound <= self.head else { throw .invalidValue(.message) }
        if let log, let expected = query.log, log != expected { throw .invalidValue(.log) }
        switch query.position {
        case .before(let offset):
            guard offsets.upperBound < offset else { throw .invalidValue(.message) }
            hasMore = offsets.lowerBound > self.first
        case .after(let offset):
            guard offsets.lowerBound > offset else { throw .invalidValue(.message) }
            hasMore = offsets.upperBound < self.head
        case .acceptedFrom: hasMore = offsets.upperBound < self.head
        }
    }

    /// Returns the content of a response.
    ///
    /// - Parameters:
    ///   - room: The offsets and the identity of the log; the members are not written.
    ///   - messages: Bodies of messages with the relay's fields, in the order of their offsets.
    package static func content(of room: Opened, messages: [[UInt8]]) -> [UInt8] {
        var writer = TLVWriter(reserving: messages.reduce(64) { $0 + byteCount(ofMessage: $1.count) })
        writer.append(.head, uint64: room.head)
        writer.append(.first, uint64: room.first)
        if let log = room.log { writer.append(.log, uint64: log.rawValue) }
        for message in messages { writer.append(.message, bytes: message) }
        return writer.bytes
    }
}
