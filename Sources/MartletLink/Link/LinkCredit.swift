import MartletWire

/// The credit of a link that this side spends: used, reserved, and the peer's limit (S-35, S-40).
///
/// | event | used | reserved | limit |
/// |---|---|---|---|
/// | a batch of whole messages is sent | rises by its cost | | |
/// | a fragment is sent | rises by its cost | the credit for the rest of its message | |
/// | an acknowledgement, larger limits | | | rises |
/// | a session ends | | falls by what the session had reserved | |
///
/// The sums exist as long as the link (S-35).
struct LinkSendCredit: Sendable {
    private(set) var used: UInt64 = 0
    /// Credit for the rest of messages that are partly sent.
    private(set) var reserved: UInt64 = 0
    private var limit: UInt64
    /// The slot of the session with a partly sent message whose rest has no reserved credit.
    @CompactOptional private(set) var unreservedSlot: Int? = nil

    /// The limit is a window until the first acknowledgement (S-37).
    init(windowByteCount: Int) {
        limit = UInt64(windowByteCount)
    }

    /// Bytes that are neither used nor reserved.
    var available: UInt64 { limit - min(used + reserved, limit) }

    /// The credit that is available to a session.
    func view(holdable: Int = .max) -> SendStream.LinkCredit {
        SendStream.LinkCredit(
            available: available, mayBeginUnreserved: unreservedSlot == nil, holdable: holdable)
    }

    /// Raises the limit; returns whether an honest peer would announce the gain (S-39). A limit beyond the maximum room
    /// of the peer gains nothing more.
    mutating func raise(to newLimit: UInt64, _ limits: Limits) -> Bool {
        let window = UInt64(limits.linkWindow)
        let plausible = min(newLimit, used + window + UInt64(limits.maxMessageByteCount))
        defer { limit = max(limit, newLimit) }
        return plausible > limit && plausible - limit >= window / 16
    }

    /// Raises the window to the negotiated one.
    mutating func raiseWindow(to byteCount: Int) {
        limit = max(limit, UInt64(byteCount))
    }

    /// Charges whole messages.
    @inline(__always)
    mutating func charge(_ cost: UInt64) {
        used += cost
    }

    /// Charges a frame of a session, and updates the credit reserved for the rest of its message.
    mutating func charge(_ sent: SendStream.Sent, slot: Int, reservedBefore: UInt64, reservedAfter: UInt64) {
        used += sent.cost
        reserved = reserved - reservedBefore + reservedAfter
        if sent.isUnreserved {
            unreservedSlot = slot
        } else if unreservedSlot == slot {
            unreservedSlot = nil
        }
    }

    /// Releases the reserved credit of a session; its used credit remains used.
    mutating func endSession(_ slot: Int, reserved byteCount: UInt64) {
        reserved -= byteCount
        if unreservedSlot == slot { unreservedSlot = nil }
    }
}

/// The credit of a link that the peer spends: received, released, and the announced limit (S-36, S-37).
///
/// | event | received | released | assembling, held |
/// |---|---|---|---|
/// | a frame arrives | rises by its cost | | change with the session's |
/// | the application takes a message, or can take it no more | | rises by its cost | |
/// | a session ends | | rises by the undelivered bytes | fall by the session's |
/// | the peer resets a session | rises by the bytes that had not arrived | rises by the same | |
///
/// The sums exist as long as the link. `announced` is the limit in the latest acknowledgement and never falls.
struct LinkReceiveCredit: Sendable {
    private(set) var received: UInt64 = 0
    private(set) var released: UInt64 = 0
    private(set) var announced: UInt64
    /// Bytes of incomplete messages, and bytes held behind gaps with their objects, of all sessions.
    private(set) var assemblingByteCount = 0
    private(set) var heldByteCount = 0

    init(windowByteCount: Int) {
        announced = UInt64(windowByteCount)
    }

    /// Bytes that the peer may still use.
    var available: UInt64 { announced - received }

    @inline(__always)
    mutating func charge(_ byteCount: UInt64) {
        received += byteCount
    }

    /// Charges the change that a frame made to its session. A faulty frame is charged to the session and the link or to
    /// neither, because the link outlives the connection (S-36, Specs/hostile.md row 41).
    mutating func charge(_ usage: ReceiveStream.Usage, since before: ReceiveStream.Usage) {
        received += usage.received - before.received
        assemblingByteCount += usage.assemblingByteCount - before.assemblingByteCount
        heldByteCount += usage.heldByteCount - before.heldByteCount
    }

    mutating func release(_ byteCount: UInt64) {
        released += byteCount
    }

    /// Releases the credit of frames that a session will not deliver any more (S-38).
    mutating func endSession(_ usage: ReceiveStream.Usage) {
        assemblingByteCount -= usage.assemblingByteCount
        heldByteCount -= usage.heldByteCount
        released += usage.undelivered
    }

    /// Settles credit that the peer used for frames that will not arrive; false when it is beyond the limit (S-11).
    mutating func settle(_ missing: UInt64) -> Bool {
        guard missing <= available else { return false }
        received += missing
        released += missing
        return true
    }

    /// Raises the window to the negotiated one.
    mutating func raiseWindow(to byteCount: Int) {
        announced = max(announced, UInt64(byteCount))
    }

    // MARK: Announcements

    /// The limit of the next acknowledgement.
    ///
    /// - Parameter isCompact: whether a changed limit costs bytes, so that a small gain is not announced (S-39).
    @inline(__always)
    func nextLimit(_ limits: Limits, isCompact: Bool) -> UInt64 {
        let limit = limit(limits)
        let isLargeGain = limit - announced > UInt64(limits.linkWindow / 16)
        return isCompact && !isLargeGain ? announced : limit
    }

    /// Whether credit requires an acknowledgement (S-39).
    @inline(__always)
    func wantsAnnouncement(_ limits: Limits) -> Bool {
        let gained = limit(limits) - announced
        if gained >= UInt64(limits.linkWindow / 2) { return true }
        return released == received && gained > UInt64(limits.linkWindow / 16)
    }

    mutating func announce(_ limit: UInt64) {
        announced = limit
    }

    /// The sum of released credit, the window, and the bytes of incomplete messages, which the application cannot
    /// release. These bytes count up to the longest message (S-37).
    private func limit(_ limits: Limits) -> UInt64 {
        let assembling = min(assemblingByteCount, limits.maxMessageByteCount)
        return max(announced, released + UInt64(limits.linkWindow) + UInt64(assembling))
    }
}
