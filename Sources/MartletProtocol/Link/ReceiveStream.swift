public import MartletWire

/// A frame's content after ordering and reassembly, in storage of its own.
public struct OrderedFrame: Equatable, Sendable {
    /// The frame's type.
    public var type: FrameType
    /// The whole body, inflated and with its fragments joined.
    public var body: [UInt8]
    /// What it cost in credit, in bytes; the receiver gives it back with `Link.release`.
    public var creditByteCount: Int
}

/// One direction of a session, incoming: order, duplicates, fragments and credit.
///
/// A frame is the next one (delivered where it lies), one from beyond a gap (held, within bounds), or a repetition
/// (dropped and acknowledged again). What arrives behind a gap is delivered when the gap closes. Nothing here depends
/// on the carrier (S-18).
///
/// Credit is charged when a frame arrives, whether or not it is in order, in bytes after inflating: what it costs in
/// memory. The limit is what was given back plus the window, and while a message is incomplete also what has arrived of
/// it, since nobody can take it before its end has come: a message may be larger than the window (S-36, S-37).
struct ReceiveStream: Sendable {
    /// How far ahead of the next expected sequence a frame may be; beyond it the peer is not keeping to its window
    /// (S-17, S-31, Specs/hostile.md row 21).
    static let windowFrameCount: UInt64 = 8192
    /// Frames held out of order at the most; further ones are dropped and come again (S-31).
    static let maxHeldFrames = 1024
    /// What a frame that is held takes beside its body, in bytes: its place in the tables and its body's object
    /// (Specs/hostile.md row 38).
    static let heldFrameByteCount = 192
    /// Ranges that one acknowledgement names at the most.
    static let maxAckRanges = 32
    /// The longest message of a type that uses no credit, in bytes; `opened` with all its members is the longest
    /// (S-44).
    static let maxUncreditedByteCount = 64 * 1024

    enum Arrival: Equatable {
        /// It is the next frame, whole in itself: use the body where it lies.
        case deliver
        /// It is the next in order or fills a gap; ask `popReady` for what became deliverable.
        case ready
        /// It is beyond a gap and is kept until the gap closes.
        case held
        /// It was there already.
        case duplicate
        /// It is beyond a gap and there is no room to keep it; it will come again.
        case dropped
    }

    private struct Held: Sendable {
        var type: FrameType
        var hasMore: Bool
        var body: [UInt8]
    }

    /// What has arrived and cannot be taken yet, or has not been.
    private struct Pending: Neutral, Sendable {
        static let neutral = Pending()

        var held: [UInt64: Held] = [:]
        var heldRanges = SequenceRanges()
        /// What is held out of order, in bytes with objects.
        var heldByteCount = 0
        var ready = Deque<OrderedFrame>()
        var assembling: OrderedFrame?

        @inline(__always)
        var isEmpty: Bool { held.isEmpty && ready.isEmpty && assembling == nil }
    }

    /// The next sequence in order.
    private(set) var expected: UInt64
    /// There while a gap is open, a message is incomplete, or frames were not taken.
    private var pending = OnDemand<Pending>()

    /// Absolute credit: what the peer has been told that it may send, what has arrived, what went on to the
    /// application, and what the application gave back.
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

    /// What the link counts of all its sessions, in bytes.
    struct Usage {
        var received: UInt64
        var assemblingByteCount: Int
        var heldByteCount: Int
    }

    var usage: Usage {
        Usage(received: creditReceived, assemblingByteCount: assemblingByteCount, heldByteCount: heldByteCount)
    }

    private var windowByteCount: UInt64 { UInt64(window) }
    private var maxMessageByteCount: Int { Int(maxMessage) }

    var hasGap: Bool { pending.isAllocated && !pending.value.held.isEmpty }
    /// Whether `popReady` has a frame.
    var hasReady: Bool { pending.isAllocated && !pending.value.ready.isEmpty }
    /// Frames held out of order.
    var heldFrameCount: Int { pending.value.held.count }
    /// What is held out of order, in bytes with objects.
    var heldByteCount: Int { pending.value.heldByteCount }
    /// The highest sequence received with everything before it.
    var cumulative: UInt64 { expected - 1 }
    /// What has arrived of a message whose end has not, in bytes of credit.
    var assemblingByteCount: Int { pending.value.assembling?.creditByteCount ?? 0 }
    /// Ranges received beyond the gap, ascending, at most `maxAckRanges`.
    var ranges: [ClosedRange<UInt64>] {
        guard pending.isAllocated else { return [] }
        return Array(pending.value.heldRanges.ranges.prefix(ReceiveStream.maxAckRanges))
    }

    /// Whether there is memory for what cannot be taken yet.
    var hasPending: Bool { pending.isAllocated }

    /// Gives that memory back when nothing is in it.
    mutating func releaseIdleMemory() {
        if pending.isAllocated, pending.value.isEmpty { pending.release() }
    }

    /// Whether frames that come next are delivered at once.
    @inline(__always)
    private var hasNothingPending: Bool { !pending.isAllocated || pending.value.isEmpty }

    /// The whole sequence of a frame whose low 32 bits are given: the one nearest to what is expected (RFC 9000 §A.3);
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

    /// Takes a message in one frame, if it is the next one and nothing else has to be thought of: what `accept` answers
    /// with `.deliver`. False, and nothing has changed, otherwise.
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

    /// What to do with a frame whose body is `plain`, inflated.
    ///
    /// - Parameters:
    ///   - heldRoom: bytes that may still be held out of order on the whole link, objects counted.
    ///   - linkCredit: bytes that the peer may still use on the whole link; `creditReceived` has what is charged.
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

    /// The next frame that a gap or a fragment had kept back.
    mutating func popReady() -> OrderedFrame? {
        guard hasReady, let frame = pending.value.ready.popFirst() else { return nil }
        creditDelivered += UInt64(frame.creditByteCount)
        return frame
    }

    private func isHeld(_ sequence: UInt64) -> Bool { hasGap && pending.value.held[sequence] != nil }

    // MARK: Credit

    /// Gives credit back for bytes the application has taken; returns how many of them were its to give.
    mutating func release(_ byteCount: Int) -> Int {
        let released = min(UInt64(byteCount), creditDelivered - creditReleased)
        creditReleased += released
        return Int(released)
    }

    /// Whether the peer should hear of its credit soon: half a window is often enough that it does not stall, and
    /// seldom enough that it mostly rides on other frames. When nothing is left to take it is all there is to say
    /// (S-39).
    var wantsAnnouncement: Bool {
        let gained = limit - min(creditLimit, limit)
        if gained >= max(windowByteCount / 2, 1) { return true }
        return creditReleased == creditReceived && gained > windowByteCount / 16
    }

    /// Whether the gain of the limit is worth its bytes in a compact acknowledgement.
    var isCreditGainLarge: Bool { limit - min(creditLimit, limit) > windowByteCount / 16 }

    /// Raises the announced limit to all that there is, because an acknowledgement goes out anyway.
    mutating func refreshCredit() {
        creditLimit = max(creditLimit, limit)
    }

    /// The window grows to what was agreed on after the session was opened.
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

    /// Takes the held frames that are next, also behind a fault: `held` never has the expected sequence, since the link
    /// can be resumed (Specs/hostile.md row 41). Answers the first fault.
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

    /// Adds a frame to the message that it is part of. A frame with a fault is dropped together with that message.
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
