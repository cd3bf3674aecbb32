internal import MartletWire

/// Reassembles one direction of a TCP connection: it converts segments to the bytes of the stream, in order and without
/// repetitions.
///
/// The stream begins at the SYN, or at the first segment if the capture begins later. Segments behind a gap are held up
/// to a bound. Beyond the bound the missing bytes count as not captured, and the stream ends at the gap.
struct TCPReassembler: Sendable {
    /// The maximum number of bytes held behind a gap.
    static let maxHeldByteCount = 4 << 20
    /// The maximum number of segments held behind a gap.
    static let maxHeldCount = 4096

    /// A segment held behind a gap.
    private struct Held: Sendable {
        var sequence: UInt32
        var bytes: [UInt8]
    }

    /// Whether the SYN was received.
    private(set) var hasBeginning = false
    /// Whether the FIN was reached.
    private(set) var hasEnded = false
    /// Whether a gap ended the stream.
    private(set) var isBroken = false
    private var next: UInt32?
    private var end: UInt32?
    private var held: [Held] = []
    /// The number of held bytes.
    private(set) var heldByteCount = 0

    /// Whether segments are held behind a gap.
    var hasGap: Bool { !held.isEmpty }

    /// Receives a segment and returns the bytes that continue the stream.
    mutating func receive(_ segment: TCPSegment) -> [UInt8] {
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
        if heldByteCount > Self.maxHeldByteCount || held.count > Self.maxHeldCount { endAtGap() }
        hasEnded = end != nil && end == next
        return bytes
    }

    /// Ends the stream at its gap and discards the held segments.
    mutating func endAtGap() {
        isBroken = true
        held = []
        heldByteCount = 0
    }

    /// The distance from the next byte of the stream to `sequence`; negative for bytes received before.
    private func distance(to sequence: UInt32) -> Int {
        Int(Int32(bitPattern: sequence &- (next ?? sequence)))
    }

    private mutating func hold(_ bytes: [UInt8], at sequence: UInt32) {
        if bytes.isEmpty || distance(to: sequence) + bytes.count <= 0 { return }
        // Most segments follow all held ones.
        var index = held.count
        while index > 0, distance(to: held[index - 1].sequence) > distance(to: sequence) { index -= 1 }
        held.insert(Held(sequence: sequence, bytes: bytes), at: index)
        heldByteCount += bytes.count
    }

    /// Moves the held bytes that continue the stream to `bytes`, each once.
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
