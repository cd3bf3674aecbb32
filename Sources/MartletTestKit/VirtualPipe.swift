import MartletProtocol

/// One direction of a virtual connection: when bytes arrive, and how many are under way.
struct VirtualPipe {
    /// Bytes that a sender may hand over before the path has taken them: a socket's send buffer.
    static let bufferByteCount = 64 * 1024
    /// Bytes of a stream that may be under way or unread: the receiver's window.
    static let windowByteCount = 512 * 1024

    private var freeAt = Instant.zero
    private var lastArrival = Instant.zero
    /// Bytes that have been handed over and have not been read.
    var unreadByteCount = 0
    /// Whether the sender is to be asked again when the path has taken what it has.
    var isWaiting = false

    /// Bytes that the path has not taken yet.
    func backlog(_ conditions: PathConditions, now: Instant) -> Int {
        guard let rate = conditions.bytesPerSecond, freeAt > now else { return 0 }
        return Int((freeAt - now).nanoseconds / 1000) * rate / 1_000_000
    }

    /// When the path will have taken everything handed over so far.
    var takenAt: Instant { freeAt }

    /// Hands bytes over; answers when they arrive: on a stream not before those that were handed over earlier.
    mutating func send(
        _ byteCount: Int, _ conditions: PathConditions, isStream: Bool, random: UInt64, now: Instant
    ) -> Instant {
        freeAt = max(freeAt, now)
        if let rate = conditions.bytesPerSecond {
            freeAt = freeAt + .microseconds(Int64(byteCount) * 1_000_000 / Int64(rate))
        }
        let arrival = freeAt + conditions.delay + .uniform(below: conditions.jitter, random: random)
        guard isStream else { return arrival }
        lastArrival = max(arrival, lastArrival)
        return lastArrival
    }
}
