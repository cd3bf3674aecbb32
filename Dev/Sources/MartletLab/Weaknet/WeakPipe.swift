internal import MartletWire

/// One direction of a connection through a weak link: bytes are pushed at one time and pulled in the same order at a
/// later one.
///
/// Bytes are transferred in segments. Each segment waits until the previous ones were sent at the speed of the link,
/// then has the delay and its own jitter, and never arrives before the previous segment.
struct WeakPipe: Sendable {
    /// The maximum number of bytes of a segment: the payload of a packet.
    static let segmentByteCount = 1448
    /// The maximum number of bytes of storage that an empty pipe keeps.
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
    /// The arrival time of the end of the stream; nil before the end was sent.
    private var end: Duration?

    /// Creates a pipe that accepts its first bytes at `opening`.
    init(_ profile: WeakLinkProfile, seed: UInt64, opening: Duration) {
        self.profile = profile
        outages = Outages(profile)
        random = SeededRandom(seed: seed)
        freeFrom = opening
    }

    /// The number of bytes in flight.
    var heldByteCount: Int { bytes.count - firstByte }
    /// The number of bytes of allocated memory.
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

    /// Sends the end of the stream at `now`, after all bytes.
    mutating func pushEnd(now: Duration) {
        end = arrival(of: max(freeFrom, now))
    }

    /// Appends to `buffer` bytes that have arrived by `now`, at most `limit` and as many as fit, and returns their
    /// number.
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
        removeRead()
        return byteCount
    }

    /// Returns whether all bytes were pulled and the end has arrived.
    func hasEnded(by now: Duration) -> Bool {
        guard let end else { return false }
        return heldByteCount == 0 && end <= now && outages.firstOpening(from: now) == now
    }

    /// Returns whether bytes have arrived that were not pulled.
    func isReady(at now: Duration) -> Bool {
        guard let due = nextDue else { return false }
        return due <= now && outages.firstOpening(from: now) == now
    }

    /// Returns the next arrival time after `now`.
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

    /// Removes the pulled bytes if they are all or the greater part of the storage.
    private mutating func removeRead() {
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
