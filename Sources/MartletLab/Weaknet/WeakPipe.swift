internal import MartletWire

/// One way of one connection through a weak link: bytes in at one time, out in the same order at another.
///
/// Bytes travel in segments, as they do on a network: each waits for the ones before it to leave at the link's speed,
/// then takes the delay and its own jitter, and never arrives before the segment in front of it.
struct WeakPipe: Sendable {
    /// What is on its way together: the payload of a packet, in bytes.
    static let segmentByteCount = 1448
    /// Bytes of storage that an empty pipe keeps; after a burst they are given back.
    static let maxKeptByteCount = 4 << 10

    private struct Segment: Sendable {
        var due: Duration
        var byteCount: Int
    }

    private let profile: WeakLinkProfile
    private let outages: Outages
    private var random: SeededRandom
    private var bytes: [UInt8] = []
    private var firstByte = 0
    private var segments: [Segment] = []
    private var firstSegment = 0
    private var freeFrom: Duration
    private var lastDue = Duration.zero
    /// When the end of the stream arrives, once it was sent.
    private var end: Duration?

    /// A pipe that takes its first bytes at `opening`.
    init(_ profile: WeakLinkProfile, seed: UInt64, opening: Duration) {
        self.profile = profile
        outages = Outages(profile)
        random = SeededRandom(seed: seed)
        freeFrom = opening
    }

    /// How many bytes are on their way.
    var heldByteCount: Int { bytes.count - firstByte }
    /// How many bytes of memory it has for them.
    var storageByteCount: Int { bytes.capacity + segments.capacity * MemoryLayout<Segment>.stride }

    /// Sends bytes at `now`.
    mutating func push(_ input: [UInt8], now: Duration) {
        bytes += input
        var rest = input.count
        while rest > 0 {
            let byteCount = min(rest, Self.segmentByteCount)
            rest -= byteCount
            freeFrom = outages.firstOpening(from: max(freeFrom, now))
            if let speed = profile.bytesPerSecond { freeFrom += .seconds(1) * byteCount / speed }
            segments.append(Segment(due: arrival(of: freeFrom), byteCount: byteCount))
        }
    }

    /// Sends the end of the stream at `now`, behind all bytes.
    mutating func pushEnd(now: Duration) {
        end = arrival(of: max(freeFrom, now))
    }

    /// Takes bytes that have arrived by `now`, at most `limit` and what fits, and returns their number.
    mutating func pull(into buffer: inout OutputRawSpan, limit: Int, now: Duration) -> Int {
        guard outages.firstOpening(from: now) == now else { return 0 }
        var byteCount = 0
        let room = min(limit, buffer.freeCapacity)
        while byteCount < room, firstSegment < segments.count, segments[firstSegment].due <= now {
            let step = min(segments[firstSegment].byteCount, room - byteCount)
            byteCount += step
            segments[firstSegment].byteCount -= step
            if segments[firstSegment].byteCount == 0 { firstSegment += 1 }
        }
        buffer.append(bytes: bytes.rawBytes.extracting(firstByte..<firstByte + byteCount))
        firstByte += byteCount
        compact()
        return byteCount
    }

    /// Whether everything was taken and the end has arrived.
    func hasEnded(by now: Duration) -> Bool {
        guard let end else { return false }
        return heldByteCount == 0 && end <= now && outages.firstOpening(from: now) == now
    }

    /// Whether bytes have arrived that were not taken yet.
    func isReady(at now: Duration) -> Bool {
        guard let due = nextDue else { return false }
        return due <= now && outages.firstOpening(from: now) == now
    }

    /// The next moment after `now` at which something arrives.
    func nextArrival(after now: Duration) -> Duration? {
        guard let due = nextDue else { return nil }
        let arrival = outages.firstOpening(from: max(due, now))
        return arrival > now ? arrival : nil
    }

    private var nextDue: Duration? {
        firstSegment < segments.count ? segments[firstSegment].due : end
    }

    private mutating func arrival(of departure: Duration) -> Duration {
        var delay = profile.delay
        if profile.jitter > .zero {
            let share = Double.random(in: -1...1, using: &random)
            delay = max(.zero, delay + profile.jitter * share)
        }
        lastDue = outages.firstOpening(from: max(departure + delay, lastDue))
        return lastDue
    }

    /// Forgets what was taken, once it is everything or the greater part.
    private mutating func compact() {
        if firstByte == bytes.count {
            let keepsStorage = storageByteCount <= Self.maxKeptByteCount
            bytes.removeAll(keepingCapacity: keepsStorage)
            segments.removeAll(keepingCapacity: keepsStorage)
            (firstByte, firstSegment) = (0, 0)
            return
        }
        if firstByte > 4096, firstByte * 2 > bytes.count {
            bytes.removeFirst(firstByte)
            firstByte = 0
        }
        if firstSegment > 64, firstSegment * 2 > segments.count {
            segments.removeFirst(firstSegment)
            firstSegment = 0
        }
    }
}
