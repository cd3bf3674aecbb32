import MartletWire

/// One direction of a session, outgoing: what is queued, what is unacknowledged, and where in it the connection stands.
///
/// There is one queue. Its front part has been sent and waits for acknowledgement, the rest has not been sent on this
/// connection; sequences follow from positions, so an entry is a reference and a few bytes. A new connection moves the
/// mark back to the front (resume), an acknowledgement drops entries from the front, ranges tick entries off behind it.
struct SendStream: Sendable {
    struct Entry: Sendable {
        var body: EncodedBody
        /// When it was last sent, in nanoseconds of the caller's clock; nothing that is sent at 0.
        var sentAt: UInt64
        var fragment: UInt32
        var type: FrameType
        var isAcknowledged: Bool
    }

    /// Entries that one session may hold, sent or not. Frames without a body cost no credit, so they need a bound of
    /// their own.
    static let maxEntries = 8192

    private var entries = Deque<Entry>()
    /// The sequence of the first entry; sequences start at 1 (`Specs/wire.md`, sequence).
    private(set) var base: UInt64 = 1
    /// The sequence to send next on this connection.
    private(set) var next: UInt64 = 1
    /// One past the highest sequence ever sent on any connection: below it credit has been paid.
    private(set) var neverSent: UInt64 = 1
    /// Sequences to send again before anything new, ascending.
    private(set) var again = Deque<UInt64>()
    /// Body bytes that are queued or unacknowledged.
    private(set) var byteCount = 0
    /// Credited body bytes sent so far, counted once each, and the absolute limit that the peer set.
    private(set) var creditUsed: UInt64 = 0
    private(set) var creditLimit: UInt64

    init(creditLimit: UInt64) {
        self.creditLimit = creditLimit
    }

    var end: UInt64 { base + UInt64(entries.count) }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var hasUnsent: Bool { next < end }
    var hasUnacknowledged: Bool { next > base }
    /// The highest sequence that a peer may truthfully have received.
    var highestSent: UInt64 { neverSent - 1 }

    func hasRoom(for body: EncodedBody) -> Bool {
        entries.count + body.fragmentCount <= SendStream.maxEntries
    }

    mutating func append(_ type: FrameType, _ body: EncodedBody) {
        for fragment in 0..<body.fragmentCount {
            entries.append(
                Entry(body: body, sentAt: 0, fragment: UInt32(fragment), type: type, isAcknowledged: false))
        }
        byteCount += body.bytes.count
    }

    /// The sequence that is to go out next, if credit allows it.
    func nextToSend(linkCredit: UInt64) -> UInt64? {
        if let first = again.first { return first }
        guard next < end else { return nil }
        guard next >= neverSent else { return next }
        let entry = self[next]
        guard entry.type.isCredited else { return next }
        let bytes = UInt64(entry.body.byteCount(ofFragment: Int(entry.fragment)))
        return bytes <= creditLimit - min(creditUsed, creditLimit) && bytes <= linkCredit ? next : nil
    }

    /// Whether unsent entries wait for credit only.
    func isBlocked(linkCredit: UInt64) -> Bool {
        next < end && nextToSend(linkCredit: linkCredit) == nil
    }

    subscript(sequence: UInt64) -> Entry {
        entries[Int(sequence - base)]
    }

    /// Marks it as sent; returns the credit that this cost (nothing when it is not the first time).
    mutating func markSent(_ sequence: UInt64, at now: Instant) -> UInt64 {
        if again.first == sequence { _ = again.popFirst() }
        if sequence == next {
            next += 1
            // Ranges survive a reconnect: what the peer holds out of order is not sent again.
            while next < end, next < neverSent, self[next].isAcknowledged { next += 1 }
        }
        let position = Int(sequence - base)
        entries[position].sentAt = now.nanoseconds
        guard sequence >= neverSent else { return 0 }
        neverSent = sequence + 1
        guard entries[position].type.isCredited else { return 0 }
        let cost = UInt64(entries[position].body.byteCount(ofFragment: Int(entries[position].fragment)))
        creditUsed += cost
        return cost
    }

    /// What an acknowledgement brought: bytes and frames that are news, and bytes that left the queue.
    struct Acknowledged: Equatable {
        var byteCount = 0
        var frameCount = 0
        var releasedByteCount = 0
        var largestSentAt: UInt64 = 0

        mutating func add(_ other: Acknowledged) {
            byteCount += other.byteCount
            frameCount += other.frameCount
            releasedByteCount += other.releasedByteCount
            largestSentAt = max(largestSentAt, other.largestSentAt)
        }
    }

    /// Takes the peer's word for what has arrived; nil when it names what was never sent (Specs/hostile.md row 19).
    mutating func acknowledge(cumulative: UInt64) -> Acknowledged? {
        guard cumulative < neverSent else { return nil }
        var result = Acknowledged()
        while base <= cumulative, let entry = entries.popFirst() {
            base += 1
            let bytes = entry.body.byteCount(ofFragment: Int(entry.fragment))
            byteCount -= bytes
            result.releasedByteCount += bytes
            if !entry.isAcknowledged {
                result.byteCount += bytes
                result.frameCount += 1
                result.largestSentAt = max(result.largestSentAt, entry.sentAt)
            }
        }
        next = max(next, base)
        while let first = again.first, first < base { _ = again.popFirst() }
        return result
    }

    /// Ticks off a range behind a gap, and returns what had not been acknowledged before.
    mutating func acknowledge(range: ClosedRange<UInt64>) -> Acknowledged? {
        guard range.upperBound < neverSent else { return nil }
        var result = Acknowledged()
        var sequence = max(range.lowerBound, base)
        while sequence <= range.upperBound {
            let position = Int(sequence - base)
            if !entries[position].isAcknowledged {
                entries[position].isAcknowledged = true
                result.byteCount += entries[position].body.byteCount(ofFragment: Int(entries[position].fragment))
                result.frameCount += 1
                result.largestSentAt = max(result.largestSentAt, entries[position].sentAt)
            }
            sequence += 1
        }
        return result
    }

    /// Declares frames lost that were sent on this connection before `time`; returns how many will go out again.
    ///
    /// At most `limit` of them: a burst of retransmission is at most one window (Specs/hostile.md row 31).
    mutating func loseFrames(sentBefore time: Instant, limit: Int) -> Int {
        again.removeAll()
        var sequence = base
        while sequence < next, again.count < limit {
            let entry = self[sequence]
            if !entry.isAcknowledged, entry.sentAt < time.nanoseconds { again.append(sequence) }
            sequence += 1
        }
        return again.count
    }

    /// Declares frames lost that three later ones have overtaken (RFC 9002 §6.1.1); only for carriers without order.
    mutating func loseFrames(behind highest: UInt64) -> Int {
        var lost = 0
        var sequence = base
        while sequence + 3 <= highest, sequence < next {
            if !self[sequence].isAcknowledged, self[sequence].sentAt < self[highest].sentAt || sequence >= neverSent,
                !again.contains(sequence)
            {
                again.append(sequence)
                lost += 1
            }
            sequence += 1
        }
        return lost
    }

    /// Everything unacknowledged is to be sent again on the connection that begins.
    mutating func rewind() {
        again.removeAll()
        next = base
        while next < neverSent, self[next].isAcknowledged { next += 1 }
    }

    /// Forgets what was not yet sent on any connection and returns the types dropped; used when a session is reset.
    mutating func dropAll() {
        base = end
        next = end
        neverSent = end
        entries.removeAll()
        again.removeAll()
        byteCount = 0
    }

    mutating func raiseCreditLimit(to limit: UInt64) {
        creditLimit = max(creditLimit, limit)
    }

    /// Bytes in flight on this connection: sent, not acknowledged.
    var oldestUnacknowledgedSentAt: UInt64? {
        guard next > base else { return nil }
        return entries[0].sentAt
    }
}

extension FrameType {
    /// Whether bodies of this type use credit: those that carry what applications say. The protocol's own frames are
    /// bounded by count.
    var isCredited: Bool {
        self == .data || self == .request || self == .response
    }
}
