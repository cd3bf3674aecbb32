package import MartletWire

/// A frame's content after ordering and reassembly, in storage of its own.
package struct OrderedFrame: Equatable, Sendable {
    /// The frame's type.
    package var type: FrameType
    /// The whole body, inflated and with its fragments joined.
    package var body: [UInt8]
    /// Its cost in credit, in bytes; the receiver returns it with `Link.release`.
    package var creditByteCount: Int
}

/// The incoming direction of a session: order, duplicates, fragments and credit.
///
/// A frame is the next one (delivered in place), one behind a gap (held, within bounds), or a duplicate (dropped and
/// acknowledged again). Held frames are delivered when the gap closes. Nothing here depends on the carrier (S-18).
///
/// Credit is charged when a frame arrives, in order or not, in bytes after inflating: its cost in memory. The limit is
/// the sum of released credit, the window, and the received bytes of an incomplete message, which the application
/// cannot release before its end: a message may be larger than the window (S-36, S-37).
struct ReceiveStream: ~Copyable, Sendable {
    /// The number of sequences that a frame may have, from the next expected one on. One beyond is a fault (S-17, S-31,
    /// Specs/hostile.md row 21).
    static let windowFrameCount: UInt64 = 8192  // bound
    /// The maximum number of frames held out of order; further ones are dropped and arrive again (S-31).
    static let maxHeldFrames = 1024
    /// Memory of a held frame without its body, in bytes: its entries in the tables and its body's object.
    /// They count against the window of the link (Specs/hostile.md row 38).
    static let heldFrameByteCount = 192  // bound
    /// The maximum number of ranges in an acknowledgement.
    static let maxAckRanges = 32
    /// The maximum length of a message of a type that uses no credit, in bytes. `opened` with all its members is the
    /// longest (S-44).
    static let maxUncreditedByteCount = 64 * 1024

    enum Arrival: Equatable {
        /// The frame is next and complete. The caller uses the body in place.
        case deliver
        /// The frame is next or closes a gap. `popReady` has the frames that became deliverable.
        case ready
        /// The frame is behind a gap and is held until the gap closes.
        case held
        /// The frame had arrived before.
        case duplicate
        /// The frame is behind a gap and there is no room for it; it will arrive again.
        case dropped
    }

    private struct Held: Sendable {
        var type: FrameType
        var hasMore: Bool
        var body: [UInt8]
    }

    /// Frames that are not deliverable yet, or were not taken.
    private struct Pending: ~Copyable, Neutral, Sendable {
        static let neutral = NeutralValue<Pending>()

        var held: [UInt64: Held] = [:]
        var heldRanges = SequenceRanges()
        /// Bytes held out of order, with objects.
        var heldByteCount = 0
        var ready = Deque<OrderedFrame>()
        var assembling: OrderedFrame?

        @inline(__always)
        var isEmpty: Bool { held.isEmpty && ready.isEmpty && assembling == nil }
    }

    /// The next sequence in order.
    private(set) var expected: UInt64
    /// Allocated while a gap is open, a message is incomplete, or frames were not taken.
    private var pending = OnDemand<Pending>()

    /// Absolute credit: the announced limit, received, delivered to the application, and released by it.
    private(set) var creditLimit: UInt64
    private(set) var creditReceived: UInt64 = 0
    private(set) var creditDelivered: UInt64 = 0
    private(set) var creditReleased: UInt64 = 0
    private var window: UInt32
    private var maxMessage: UInt32

    /// A stream whose first frame has the sequence `first`.
    init(windowByteCount: Int, maxMessageByteCount: Int, first: UInt64 = 1) {
        window = UInt32(windowByteCount)
        creditLimit = UInt64(windowByteCount)
        maxMessage = UInt32(maxMessageByteCount)
        expected = first
    }

    /// The bytes that the link counts for all its sessions.
    struct Usage {
        var received: UInt64
        /// Credit of frames that were not delivered.
        var undelivered: UInt64
        var assemblingByteCount: Int
        var heldByteCount: Int
    }

    var usage: Usage {
        Usage(
            received: creditReceived, undelivered: creditReceived - creditDelivered,
            assemblingByteCount: assemblingByteCount, heldByteCount: heldByteCount)
    }

    private var windowByteCount: UInt64 { UInt64(window) }
    private var maxMessageByteCount: Int { Int(maxMessage) }

    var hasGap: Bool { pending.isAllocated && !pending.value.held.isEmpty }
    /// Whether `popReady` has a frame.
    var hasReady: Bool { pending.isAllocated && !pending.value.ready.isEmpty }
    /// Frames held out of order.
    var heldFrameCount: Int { pending.value.held.count }
    /// Bytes held out of order, with objects.
    var heldByteCount: Int { pending.value.heldByteCount }
    /// The highest sequence received with everything before it.
    var cumulative: UInt64 { expected - 1 }
    /// Received bytes of an incomplete message, in credit.
    var assemblingByteCount: Int { pending.value.assembling?.creditByteCount ?? 0 }
    /// Ranges received behind the gap, ascending, at most `maxAckRanges`.
    var ranges: [ClosedRange<UInt64>] {
        guard pending.isAllocated else { return [] }
        return Array(pending.value.heldRanges.ranges.prefix(ReceiveStream.maxAckRanges))
    }

    /// Whether there is memory for frames that are not deliverable yet.
    var hasPending: Bool { pending.isAllocated }

    /// Releases the memory of pending frames when there are none.
    mutating func releaseIdleMemory() {
        if pending.isAllocated, pending.value.isEmpty { pending.release() }
    }

    /// Whether a frame that is next is delivered at once.
    @inline(__always)
    private var hasNothingPending: Bool { !pending.isAllocated || pending.value.isEmpty }

    /// The sequence with these low 32 bits that is nearest to the expected one (RFC 9000 §A.3);
    /// nil when that would be below 1, or no number of 64 bits (W-12, S-17).
    func sequence(low: UInt32) -> UInt64? {
        let distance = Int64(Int32(bitPattern: low &- UInt32(truncatingIfNeeded: expected)))
        if distance < 0, distance.magnitude >= expected { return nil }
        let (sequence, overflow) =
            distance < 0
            ? expected.subtractingReportingOverflow(distance.magnitude)
            : expected.addingReportingOverflow(distance.magnitude)
        return overflow ? nil : sequence
    }

    /// Receives a message in one frame for which `accept` would return `.deliver`. False, without a change, for any
    /// other frame.
    @inline(__always)
    mutating func takeNext(low: UInt32, byteCount: Int) -> Bool {
        guard low == UInt32(truncatingIfNeeded: expected), hasNothingPending, byteCount <= maxMessageByteCount,
            UInt64(byteCount) <= creditLimit - creditReceived
        else { return false }
        expected += 1
        creditReceived += UInt64(byteCount)
        creditDelivered += UInt64(byteCount)
        return true
    }

    /// Receives a frame whose inflated body is `plain`.
    ///
    /// - Parameters:
    ///   - heldRoom: bytes that may still be held out of order on the whole link, objects counted.
    ///   - linkCredit: bytes that the peer may still use on the whole link. The charge is the change of
    ///     `creditReceived`.
    mutating func accept(
        _ sequence: UInt64, type: FrameType, hasMore: Bool, plain: RawSpan, isInPlace: Bool, heldRoom: Int,
        linkCredit: UInt64 = .max
    ) throws(LinkError) -> Arrival {
        guard sequence >= expected, !isHeld(sequence) else { return .duplicate }  // W-14
        guard sequence - expected < ReceiveStream.windowFrameCount else { throw .peer(.outOfWindow) }
        guard sequence == expected else {
            let byteCount = plain.byteCount + ReceiveStream.heldFrameByteCount
            guard heldFrameCount < ReceiveStream.maxHeldFrames, byteCount <= heldRoom else { return .dropped }
            try charge(type, plain.byteCount, linkCredit)
            pending.value.held[sequence] = Held(type: type, hasMore: hasMore, body: [UInt8](copying: plain))
            pending.value.heldRanges.insert(sequence)
            pending.value.heldByteCount += byteCount
            return .held
        }
        try charge(type, plain.byteCount, linkCredit)
        expected += 1
        if isInPlace, !hasMore, hasNothingPending {
            guard plain.byteCount <= maxByteCount(of: type) else { throw .session(.messageTooLarge) }
            if type.isCredited { creditDelivered += UInt64(plain.byteCount) }
            return .deliver
        }
        let fault = join(type, hasMore: hasMore, plain: plain)
        if let fault = drainHeld(after: fault) { throw fault }
        return .ready
    }

    /// The next frame that was held behind a gap or a fragment.
    mutating func popReady() -> OrderedFrame? {
        guard hasReady, let frame = pending.value.ready.popFirst() else { return nil }
        creditDelivered += UInt64(frame.creditByteCount)
        return frame
    }

    private func isHeld(_ sequence: UInt64) -> Bool { hasGap && pending.value.held[sequence] != nil }

    // MARK: Credit

    /// Releases credit for bytes that the application has taken; returns the released part of `byteCount`.
    mutating func release(_ byteCount: Int) -> Int {
        let released = min(UInt64(byteCount), creditDelivered - creditReleased)
        creditReleased += released
        return Int(released)
    }

    /// Whether credit requires an acknowledgement. At half a window the peer does not stall, and most announcements are
    /// sent with other frames (S-39).
    var wantsAnnouncement: Bool {
        let gained = limit - min(creditLimit, limit)
        if gained >= max(windowByteCount / 2, 1) { return true }
        return creditReleased == creditReceived && gained > windowByteCount / 16
    }

    /// Whether the gain of the limit justifies its bytes in a compact acknowledgement.
    var isCreditGainLarge: Bool { limit - min(creditLimit, limit) > windowByteCount / 16 }

    /// Raises the announced limit to the current one, because an acknowledgement is sent in any case.
    mutating func refreshCredit() {
        creditLimit = max(creditLimit, limit)
    }

    /// Raises the window to the limits that were negotiated after the session was opened.
    mutating func raiseWindow(to byteCount: Int, maxMessageByteCount: Int) {
        window = max(window, UInt32(byteCount))
        creditLimit = max(creditLimit, windowByteCount)
        maxMessage = UInt32(maxMessageByteCount)
    }

    private var limit: UInt64 { creditReleased + windowByteCount + UInt64(assemblingByteCount) }

    private mutating func charge(_ type: FrameType, _ byteCount: Int, _ linkCredit: UInt64) throws(LinkError) {
        guard type.isCredited else { return }
        guard UInt64(byteCount) <= min(creditLimit - creditReceived, linkCredit) else { throw .peer(.creditExceeded) }
        creditReceived += UInt64(byteCount)
    }

    private func maxByteCount(of type: FrameType) -> Int {
        type.isCredited ? maxMessageByteCount : ReceiveStream.maxUncreditedByteCount
    }

    // MARK: Order and fragments

    /// Joins the held frames that are next, also after a fault: `held` never has the expected sequence, since the link
    /// can be resumed (Specs/hostile.md row 41). Returns the first fault.
    private mutating func drainHeld(after fault: LinkError?) -> LinkError? {
        guard hasGap else { return fault }
        var fault = fault
        while let frame = pending.value.held.removeValue(forKey: expected) {
            pending.value.heldByteCount -= frame.body.count + ReceiveStream.heldFrameByteCount
            expected += 1
            let next = join(frame.type, hasMore: frame.hasMore, plain: frame.body.rawBytes)
            fault = fault ?? next
        }
        pending.value.heldRanges.removeAll(below: expected)
        return fault
    }

    /// Adds a frame to its message. A frame with a fault is dropped together with that message.
    private mutating func join(_ type: FrameType, hasMore: Bool, plain: RawSpan) -> LinkError? {  // W-22
        let credit = type.isCredited ? plain.byteCount : 0
        var frame = pending.value.assembling.take() ?? OrderedFrame(type: type, body: [], creditByteCount: 0)
        guard frame.type == type else { return .peer(.protocolViolation) }  // S-42
        guard frame.body.count + plain.byteCount <= maxByteCount(of: type) else { return .session(.messageTooLarge) }
        frame.body.append(bytes: plain)
        frame.creditByteCount += credit
        if hasMore { pending.value.assembling = frame } else { pending.value.ready.append(frame) }
        return nil
    }
}
