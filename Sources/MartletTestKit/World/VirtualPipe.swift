package import MartletLink

/// One direction of a virtual connection: the arrival of bytes, and the bytes in transit.
package struct VirtualPipe {
    /// The size of the sender's socket buffer, in bytes.
    package static let bufferByteCount = 64 * 1024
    /// The receive window of a stream, in bytes.
    package static let windowByteCount = 512 * 1024
    /// The timeout of a graceful close.
    package static let closeTimeout = Duration.seconds(1)

    private var freeAt = Instant.zero
    private var lastArrival = Instant.zero
    /// Bytes that have been sent and not read.
    package var unreadByteCount = 0
    /// Whether the sender must be called again when the path has space.
    package var isWaiting = false

    package init() {}

    /// Bytes in the send buffer.
    package func backlog(_ conditions: PathConditions, now: Instant) -> Int {
        guard let rate = conditions.bytesPerSecond, freeAt > now else { return 0 }
        return Int((freeAt - now).nanoseconds / 1000) * rate / 1_000_000
    }

    /// The time at which the send buffer is empty.
    package var takenAt: Instant { freeAt }

    /// Sends bytes and returns their arrival, on a stream not before that of earlier bytes.
    package mutating func send(
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
