import MartletLink
public import MartletWire

extension Room {
    /// A page of the history of a room.
    public struct Page: Sendable, Equatable {
        /// The messages in the order of their offsets.
        public let messages: [RoomMessage]
        /// The cursor of the next page in the same direction; nil if the log has no more messages there.
        public let next: RoomCursor?
        /// The offset of the oldest message that the relay keeps.
        public let firstOffset: UInt64
        /// The offset of the newest message.
        public let lastOffset: UInt64
        /// The identity of the log; nil with a relay that does not identify its logs.
        public let log: LogID?

        /// Whether the log has more messages in the direction of the page.
        public var hasMore: Bool { next != nil }
    }

    /// The messages that a relay keeps of a room.
    public struct Retention: Sendable, Equatable {
        /// The offset of the oldest message that the relay keeps.
        public let firstOffset: UInt64
        /// The offset of the newest message.
        public let lastOffset: UInt64
        /// The identity of the log; nil with a relay that does not identify its logs.
        public let log: LogID?
        /// The age up to which messages are kept; nil if the relay reports no bound.
        public let maxAge: Duration?
        /// The number of messages that are kept; nil if the relay reports no bound.
        public let maxMessageCount: Int?
        /// The size of the messages that are kept, in bytes; nil if the relay reports no bound.
        public let maxByteCount: Int?
    }

    /// The newest messages before a cursor.
    ///
    /// A page is read from the log and changes neither ``messages`` nor the handled cursor. It has at most 256 messages
    /// and about 15 KiB, at least one message; ``Page/next`` continues it. A client has at most two such calls for a
    /// room at a time; the relay answers others with `tooManyRequests`. If the calling task is cancelled, the request
    /// is cancelled.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of the message after the page; nil for the end of the log.
    ///   - limit: The maximum number of messages, which is brought into the range 1...256.
    /// - Throws: The errors of ``request(_:text:to:timeout:)``; `answeredWithFailure` with `forbidden` if the account
    ///   may not read earlier messages, with `unknownMethod` by a relay without this method; `logReplaced` if the
    ///   cursor belongs to a log that the relay has lost; `invalidContent` if the answer of the relay is not valid.
    nonisolated(nonsending) public func messages(
        before cursor: RoomCursor? = nil, limit: Int = 50
    ) async throws -> Page {
        try await page(.before(cursor?.offset ?? .max), limit, of: cursor?.log)
    }

    /// The oldest messages after a cursor, like ``messages(before:limit:)``.
    nonisolated(nonsending) public func messages(after cursor: RoomCursor, limit: Int = 50) async throws -> Page {
        try await page(.after(cursor.offset), limit, of: cursor.log)
    }

    /// The messages from the first one that the relay accepted at or after a time, like ``messages(before:limit:)``.
    ///
    /// - Parameters:
    ///   - time: The time in milliseconds since 1970, by the clock of the relay, like ``RoomMessage/acceptedAt``. If
    ///     this clock was set back, several messages can satisfy this condition, and any of them may be the first of
    ///     the page.
    ///   - limit: The maximum number of messages.
    nonisolated(nonsending) public func messages(
        acceptedFrom time: UInt64, limit: Int = 50
    ) async throws -> Page {
        try await page(.acceptedFrom(time), limit, of: nil)
    }

    /// The messages that the relay keeps of the room.
    ///
    /// - Throws: The errors of ``request(_:text:to:timeout:)``; `invalidContent` if the answer of the relay is not
    ///   valid.
    nonisolated(nonsending) public func retention() async throws -> Retention {
        let content = try await request("head", content: nil).content ?? []
        do {
            return Retention(try Opened(parsing: content.rawBytes), try RoomRetention(parsing: content))
        } catch {
            throw MartletError.invalidContent(causedBy: error)
        }
    }

    nonisolated(nonsending) private func page(
        _ position: HistoryQuery.Position, _ limit: Int, of log: LogID?
    ) async throws -> Page {
        let query = HistoryQuery(position, limit: limit, log: log)
        let answer = try await request(HistoryQuery.method.text, content: query.content)
        let page: HistoryPage
        do {
            page = try HistoryPage(parsing: answer.content, answering: query)
        } catch {
            throw MartletError.invalidContent(causedBy: error)
        }
        //
        if let log, let present = page.log, present != log { throw MartletError.logReplaced(current: present) }
        return Page(page, query)
    }
}

extension Room.Page {
    fileprivate init(_ page: HistoryPage, _ query: HistoryQuery) {
        messages = page.messages.compactMap { RoomMessage($0, log: page.log) }
        firstOffset = page.first
        lastOffset = page.head
        log = page.log
        guard page.hasMore, let offsets = page.offsets else {
            next = nil
            return
        }
        if case .before = query.position {
            next = RoomCursor(log: page.log, offset: offsets.lowerBound)
        } else {
            next = RoomCursor(log: page.log, offset: offsets.upperBound)
        }
    }
}

extension Room.Retention {
    fileprivate init(_ room: Opened, _ bounds: RoomRetention) {
        firstOffset = room.first
        lastOffset = room.head
        log = room.log
        maxAge = bounds.maxAge.map { .milliseconds(Int64(clamping: $0)) }
        maxMessageCount = bounds.maxCount.map { Int(clamping: $0) }
        maxByteCount = bounds.maxByteCount.map { Int(clamping: $0) }
    }
}
