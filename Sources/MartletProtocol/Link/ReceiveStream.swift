public import MartletWire

/// A frame's content after ordering and reassembly, in storage of its own.
public struct OrderedFrame: Equatable, Sendable {
    /// The frame's type.
    public var type: FrameType
    /// The whole body, inflated and with its fragments joined.
    public var body: [UInt8]
    /// What it cost in credit, in bytes as sent; the receiver gives it back with `Link.release`.
    public var creditByteCount: Int
}

/// One direction of a session, incoming: order, duplicates, fragments and credit.
///
/// A frame is the next one (delivered where it lies), one from beyond a gap (held, within bounds), or a repetition
/// (dropped and acknowledged again). What arrives behind a gap is delivered when the gap closes. Nothing here depends
/// on the carrier.
struct ReceiveStream: Sendable {
    /// How far ahead of the next expected sequence a frame may be; beyond it the peer is not keeping to its window
    /// (Specs/hostile.md row 21).
    static let windowFrameCount: UInt64 = 8192
    /// Frames held out of order at the most; further ones are dropped and come again.
    static let maxHeldFrames = 1024
    /// Ranges that one acknowledgement names at the most.
    static let maxAckRanges = 32

    enum Arrival: Equatable {
        /// It is the next frame, whole in itself: use the body where it lies.
        case deliver
        /// It is the next in order or fills a gap; ask `popReady` for what became deliverable.
        case ready
        /// It is beyond a gap and is kept until the gap closes.
        case held
        /// It was there already.
        case duplicate
    }

    private struct Held: Sendable {
        var type: FrameType
        var hasMore: Bool
        var body: [UInt8]
        var wireByteCount: Int
    }

    /// The next sequence in order.
    private(set) var expected: UInt64 = 1
    private var held: [UInt64: Held] = [:]
    private var heldByteCount = 0
    private var ready = Deque<OrderedFrame>()
    private var assembling: OrderedFrame?
    private var maxMessageByteCount: Int

    /// Absolute credit: what the peer may send, what it has sent, and what was given back.
    private(set) var creditLimit: UInt64
    private(set) var creditReceived: UInt64 = 0
    private var creditReleased: UInt64 = 0
    private var windowByteCount: UInt64

    init(windowByteCount: Int, maxMessageByteCount: Int) {
        self.windowByteCount = UInt64(windowByteCount)
        self.creditLimit = UInt64(windowByteCount)
        self.maxMessageByteCount = maxMessageByteCount
    }

    var hasGap: Bool { !held.isEmpty }
    /// The highest sequence received with everything before it.
    var cumulative: UInt64 { expected - 1 }

    /// The whole sequence of a frame whose low 32 bits are given: the one nearest to what is expected (RFC 9000 §A.3).
    func sequence(low: UInt32) -> UInt64? {
        let distance = Int64(Int32(bitPattern: low &- UInt32(truncatingIfNeeded: expected)))
        if distance < 0, UInt64(-distance) >= expected { return nil }
        return UInt64(Int64(expected) + distance)
    }

    /// What to do with a frame; the body is `plain` (inflated), its size on the wire is what credit counts.
    mutating func accept(
        _ sequence: UInt64, type: FrameType, hasMore: Bool, plain: RawSpan, wireByteCount: Int,
        isInPlace: Bool
    ) throws(LinkError) -> Arrival {
        guard sequence >= expected else { return .duplicate }
        guard sequence - expected < ReceiveStream.windowFrameCount else { throw .peer(.outOfWindow) }
        guard sequence == expected else {
            return try hold(sequence, type: type, hasMore: hasMore, plain: plain, wireByteCount: wireByteCount)
        }
        try charge(type, wireByteCount)
        expected += 1
        if isInPlace, !hasMore, assembling == nil, held.isEmpty, ready.isEmpty { return .deliver }
        try join(type, hasMore: hasMore, plain: plain, wireByteCount: wireByteCount)
        try drainHeld()
        return .ready
    }

    /// The next frame that a gap or a fragment had kept back.
    mutating func popReady() -> OrderedFrame? {
        ready.popFirst()
    }

    /// Ranges received beyond the gap, ascending, at most `maxAckRanges`.
    func ranges() -> [ClosedRange<UInt64>] {
        guard !held.isEmpty else { return [] }
        var result: [ClosedRange<UInt64>] = []
        for sequence in held.keys.sorted() {
            if let last = result.last, last.upperBound + 1 == sequence {
                result[result.count - 1] = last.lowerBound...sequence
            } else if result.count == ReceiveStream.maxAckRanges {
                break
            } else {
                result.append(sequence...sequence)
            }
        }
        return result
    }

    /// Gives credit back for bytes the application has taken; says whether the peer should hear of it soon.
    mutating func release(_ byteCount: Int) -> Bool {
        creditReleased += UInt64(byteCount)
        let limit = creditReleased + windowByteCount
        // Half a window: often enough that the sender does not stall, seldom enough that it rides on other frames.
        guard limit >= creditLimit + windowByteCount / 2 else { return false }
        creditLimit = limit
        return true
    }

    /// Raises the announced limit to all that has been released, because an acknowledgement goes out anyway.
    mutating func refreshCredit() {
        creditLimit = max(creditLimit, creditReleased + windowByteCount)
    }

    /// The window grows to what was agreed on after the session was opened.
    mutating func raiseWindow(to byteCount: Int, maxMessageByteCount: Int) {
        windowByteCount = max(windowByteCount, UInt64(byteCount))
        creditLimit = max(creditLimit, windowByteCount)
        self.maxMessageByteCount = maxMessageByteCount
    }

    private mutating func charge(_ type: FrameType, _ wireByteCount: Int) throws(LinkError) {
        guard type.isCredited else { return }
        creditReceived += UInt64(wireByteCount)
        guard creditReceived <= creditLimit else { throw .peer(.creditExceeded) }
    }

    private mutating func hold(
        _ sequence: UInt64, type: FrameType, hasMore: Bool, plain: RawSpan, wireByteCount: Int
    ) throws(LinkError) -> Arrival {
        guard held[sequence] == nil else { return .duplicate }
        guard held.count < ReceiveStream.maxHeldFrames, heldByteCount + plain.byteCount <= Int(windowByteCount) * 2
        else { return .duplicate }
        held[sequence] = Held(type: type, hasMore: hasMore, body: [UInt8](copying: plain), wireByteCount: wireByteCount)
        heldByteCount += plain.byteCount
        return .held
    }

    private mutating func drainHeld() throws(LinkError) {
        while let frame = held.removeValue(forKey: expected) {
            heldByteCount -= frame.body.count
            try charge(frame.type, frame.wireByteCount)
            expected += 1
            try join(frame.type, hasMore: frame.hasMore, plain: frame.body.rawBytes, wireByteCount: frame.wireByteCount)
        }
    }

    private mutating func join(
        _ type: FrameType, hasMore: Bool, plain: RawSpan, wireByteCount: Int
    ) throws(LinkError) {
        let credit = type.isCredited ? wireByteCount : 0
        var frame = assembling ?? OrderedFrame(type: type, body: [], creditByteCount: 0)
        assembling = nil
        guard frame.type == type else { throw .peer(.protocolViolation) }
        guard frame.body.count + plain.byteCount <= maxMessageByteCount else { throw .session(.messageTooLarge) }
        frame.body.append(bytes: plain)
        frame.creditByteCount += credit
        if hasMore { assembling = frame } else { ready.append(frame) }
    }
}
