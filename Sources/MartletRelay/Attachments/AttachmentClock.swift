import MartletTransport
import MartletWire

/// The clocks of an attachment store: the wall clock for the times of attachments, and the clock that measures their
/// age, which a file keeps.
final class AttachmentClock: Sendable {
    /// The progress, in milliseconds, after which the time is stored again.
    private static let interval: UInt64 = 600 * 1000
    private static let recordByteCount = 12

    private struct State {
        var clock: ExpiryClock
        var stored: UInt64
    }

    private let file: RegularFile?
    private let wall: @Sendable () -> UInt64
    private let steady: @Sendable () -> ContinuousClock.Instant
    private let state: Guarded<State>

    /// - Parameters:
    ///   - file: The file with the time; nil for a store in memory.
    ///   - latest: The time of the newest attachment, from which a file without a time continues.
    ///   - wall: The wall clock, in milliseconds since 1970.
    ///   - steady: The steady clock.
    init(
        _ file: RegularFile?, latest: UInt64?, wall: @escaping @Sendable () -> UInt64,
        steady: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(FileError) {
        self.file = file
        self.wall = wall
        self.steady = steady
        let stored = try file.flatMap { file throws(FileError) in Self.time(try file.read(Self.recordByteCount, at: 0))
        }
        let clock = ExpiryClock(stored: stored ?? latest, wall: wall(), steady: steady())
        state = Guarded(State(clock: clock, stored: stored ?? 0))
        _ = try observe()
    }

    /// The time of a new attachment, in milliseconds since 1970: that of the wall clock, unless it is behind the clock
    /// that measures the age.
    var time: UInt64 { max(wall(), state.withLock { $0.clock.now }) }

    /// Observes the clocks, and returns the time by which ages are measured. The call may block.
    func observe() throws(FileError) -> UInt64 {
        let (wall, steady) = (wall(), steady())
        let (now, stored) = state.withLock { state in
            _ = state.clock.observe(wall: wall, steady: steady)
            return (state.clock.now, state.stored)
        }
        if let file, now < stored || now - stored >= Self.interval {
            try file.write(Self.record(now), at: 0)
            try file.sync()
            state.withLock { $0.stored = now }
        }
        return now
    }

    private static func record(_ time: UInt64) -> [UInt8] {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        let checksum = CRC32.checksum(bytes.rawBytes)
        return bytes + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (24 - 8 * $0)) }
    }

    private static func time(_ bytes: [UInt8]) -> UInt64? {
        let time = bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return bytes.count == recordByteCount && bytes == record(time) ? time : nil
    }
}
