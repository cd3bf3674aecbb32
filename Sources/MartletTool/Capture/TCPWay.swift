internal import MartletWire

/// One way of a TCP connection: segments in, the stream's bytes out, in order and once.
///
/// It begins at the SYN, or, when the capture begins later, at the first segment that it sees. What comes ahead of its
/// turn is held, up to a bound; a hole that is not filled by then was never captured, and the stream is broken there.
struct TCPWay: Sendable {
    /// The most bytes that are held for a hole to be filled.
    static let maxHeldByteCount = 4 << 20
    /// The most segments.
    static let maxHeldCount = 4096

    /// A segment ahead of its turn.
    private struct Held: Sendable {
        var sequence: UInt32
        var bytes: [UInt8]
    }

    /// Whether its SYN was seen.
    private(set) var hasBeginning = false
    /// Whether its FIN was reached.
    private(set) var hasEnded = false
    /// Whether bytes are missing that will not come.
    private(set) var isBroken = false
    private var next: UInt32?
    private var end: UInt32?
    private var held: [Held] = []
    /// How many bytes are held.
    private(set) var heldByteCount = 0

    /// Whether something waits for a hole to be filled.
    var hasHole: Bool { !held.isEmpty }

    /// Takes a segment and gives the bytes whose turn it is with it.
    mutating func take(_ segment: TCPSegment) -> [UInt8] {
        if isBroken || hasEnded { return [] }
        var sequence = segment.sequence
        if segment.flags.contains(.syn) {
            hasBeginning = hasBeginning || next == nil
            sequence &+= 1
        }
        if next == nil { next = sequence }
        let byteCount = UInt32(clamping: segment.payload.count + segment.missingByteCount)
        if segment.flags.contains(.fin) { end = sequence &+ byteCount }
        hold(segment.payload, at: sequence)
        var bytes: [UInt8] = []
        release(into: &bytes)
        if heldByteCount > Self.maxHeldByteCount || held.count > Self.maxHeldCount { breakOff() }
        hasEnded = end != nil && end == next
        return bytes
    }

    /// No more segments come: what is held will not be asked for.
    mutating func breakOff() {
        isBroken = true
        held = []
        heldByteCount = 0
    }

    /// How far `sequence` lies ahead of what comes next; negative when it was there before.
    private func distance(to sequence: UInt32) -> Int {
        Int(Int32(bitPattern: sequence &- (next ?? sequence)))
    }

    private mutating func hold(_ bytes: [UInt8], at sequence: UInt32) {
        if bytes.isEmpty || distance(to: sequence) + bytes.count <= 0 { return }
        // Mostly behind all that are held.
        var index = held.count
        while index > 0, distance(to: held[index - 1].sequence) > distance(to: sequence) { index -= 1 }
        held.insert(Held(sequence: sequence, bytes: bytes), at: index)
        heldByteCount += bytes.count
    }

    /// Hands out what follows without a hole; what came twice counts once.
    private mutating func release(into bytes: inout [UInt8]) {
        var released = 0
        for segment in held {
            let distance = distance(to: segment.sequence)
            guard distance <= 0 else { break }
            released += 1
            heldByteCount -= segment.bytes.count
            let rest = segment.bytes.dropFirst(-distance)
            bytes += rest
            next = next.map { $0 &+ UInt32(rest.count) }
        }
        held.removeFirst(released)
    }
}
