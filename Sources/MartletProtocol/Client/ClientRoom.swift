import MartletWire

/// A message that waits to be accepted.
struct PendingMessage: Sendable {
    var counter: UInt64
    /// Nil when it is accepted or has failed; it stays until those before it are.
    var content: MessageContent?
    var expires: Instant?
    /// Whether it may be compressed with others' text (W-20).
    var isCompressible = true

    var isDone: Bool { content == nil }
}

/// A room as its client has it: what has been received, and what waits to be accepted.
///
/// Messages wait in the order of their counters, in two parts: the front has been handed to the room's session and only
/// the server decides about it, the rest may still expire or be cancelled. A new link moves the mark back to the front
/// and all is handed over again; the relay knows what it has, so what it may have can still neither expire nor
/// be cancelled.
struct ClientRoom: Sendable {
    let id: RoomID
    let name: RoomName
    var options: RoomOptions
    var session: SessionID?
    var isOpen = false
    /// The highest offset given to the application, or told to it as missing.
    var cursor: UInt64
    var pending = Deque<PendingMessage>()
    var handed = 0
    /// Counters up to this one have been handed to a connection, be it an earlier one: only the server decides about
    /// them (Specs/relay.md R-27).
    var handedUpTo: UInt64 = 0
    var pendingByteCount = 0
    var pendingCount = 0
    var lastCounter: UInt64 = 0
    /// Counters up to this one have been reported as sent.
    var reportedSent: UInt64 = 0
    var delivered: UInt64 = 0
    var read: UInt64 = 0
    var reportedDelivered: UInt64 = 0
    var reportedRead: UInt64 = 0
    var isSuspended = false
    /// Whether the server has asked to hold back what can wait (S-9).
    var isHeldBack = false
    var reopenAttempts = 0
    var typing = TypingMembers()

    init(id: RoomID, name: RoomName, options: RoomOptions) {
        self.id = id
        self.name = name
        self.options = options
        cursor = options.cursor
    }

    /// Takes a message in.
    ///
    /// - Throws: `queueFull`, `messageTooLarge`, `counterNotRising`.
    mutating func queue(
        _ message: PendingMessage, _ configuration: ClientConfiguration, _ limits: Limits
    ) throws(ClientError) {
        let byteCount = message.content?.byteCount ?? 0
        guard pendingCount < configuration.maxPendingMessages,
            pendingByteCount + byteCount <= configuration.maxPendingByteCount
        else { throw .queueFull }
        guard byteCount + ClientEngine.maxMessageOverhead <= limits.maxMessageByteCount else { throw .messageTooLarge }
        guard message.counter > lastCounter else { throw .counterNotRising }
        lastCounter = message.counter
        pendingCount += 1
        pendingByteCount += byteCount
        pending.append(message)
    }

    /// The first message that the room's session does not have.
    var nextToHandOver: PendingMessage? { handed < pending.count ? pending[handed] : nil }

    /// The session has it.
    mutating func handOver(_ counter: UInt64) {
        handed += 1
        handedUpTo = max(handedUpTo, counter)
    }

    /// The counters that the session has and that have not been reported as sent.
    mutating func takeSent() -> ClosedRange<UInt64>? {
        guard handed > 0, handed <= pending.count, let first = pending.first?.counter else { return nil }
        let last = pending[handed - 1].counter
        guard last > reportedSent else { return nil }
        defer { reportedSent = last }
        return max(first, reportedSent + 1)...last
    }

    /// The position of the first pending message whose counter is not below this; they are ascending.
    func position(from counter: UInt64) -> Int {
        var low = 0
        var high = pending.count
        while low < high {
            let middle = (low + high) / 2
            if pending[middle].counter < counter { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The position of a counter among the pending.
    func position(of counter: UInt64) -> Int? {
        let position = position(from: counter)
        return position < pending.count && pending[position].counter == counter ? position : nil
    }

    /// The pending counters within a range, however long the range that the server named.
    func counters(in range: ClosedRange<UInt64>) -> [UInt64] {
        var result: [UInt64] = []
        var position = position(from: range.lowerBound)
        while position < pending.count, range.contains(pending[position].counter) {
            if !pending[position].isDone { result.append(pending[position].counter) }
            position += 1
        }
        return result
    }

    /// Takes a message off the pending; false when it was not there.
    mutating func finish(_ counter: UInt64) -> Bool {
        guard let position = position(of: counter), let content = pending[position].content else { return false }
        pendingByteCount -= content.byteCount
        pendingCount -= 1
        pending[position].content = nil
        while pending.first?.isDone == true {
            _ = pending.popFirst()
            handed = max(0, handed - 1)
        }
        return true
    }

    /// Whether no connection has had a message: then it may expire and can be cancelled.
    func isWithheld(_ message: PendingMessage) -> Bool {
        !message.isDone && message.counter > handedUpTo
    }

    /// The earliest end of a time to live among what is withheld.
    var earliestExpiry: Instant? {
        pending.indices.dropFirst(handed).lazy.compactMap { isWithheld(pending[$0]) ? pending[$0].expires : nil }.min()
    }
}
