import MartletTestSupport
import Testing

@testable import MartletLink

/// The window over a path that takes a fixed number of bytes a second from a buffer without a bound.
@Suite struct FlightWindowTests {
    /// A path in steps of a frame: what was sent is acknowledged a round trip after the path has taken it.
    struct Path {
        let bytesPerSecond: Int
        let delay: Duration
        var freeAt = Instant.zero
        var now = Instant.zero + .seconds(1)
        var window = FlightWindow()
        var underway = Deque<(sentAt: Instant, acknowledgedAt: Instant, byteCount: Int)>()
        var takenByteCount = 0
        var worstQueue: Duration = .zero

        mutating func run(for duration: Duration, frameByteCount: Int = 16_384) {
            let end = now + duration
            while now < end {
                while window.allows(at: now) {
                    window.sent(frameByteCount, now: now)
                    worstQueue = max(worstQueue, freeAt - now)
                    freeAt = max(freeAt, now) + .seconds(frameByteCount) / bytesPerSecond
                    underway.append((now, freeAt + delay * 2, frameByteCount))
                }
                let paced = window.hasRoom ? window.pacedUntil : .distantFuture
                now = min(min(underway.first?.acknowledgedAt ?? .distantFuture, paced), end)
                while let first = underway.first, first.acknowledgedAt <= now {
                    _ = underway.popFirst()
                    takenByteCount += first.byteCount
                    window.acknowledged(first.byteCount, rtt: now - first.sentAt, now: now)
                }
            }
        }
    }

    // S-50
    @Test(arguments: [5, 20, 50, 100] as [Int64])
    func `the queue stays near the target and the path is used`(delay: Int64) {
        var path = Path(bytesPerSecond: 1_000_000, delay: .milliseconds(delay))
        path.run(for: .seconds(10))
        #expect(path.worstQueue < .milliseconds(70))
        path.takenByteCount = 0
        path.worstQueue = .zero
        path.run(for: .seconds(20))
        #expect(path.worstQueue < FlightWindow.targetDelay * 2)
        #expect(path.takenByteCount > 18_000_000)
    }

    @Test func `the queueing delay does not rise during ten minutes of bulk`() {
        var path = Path(bytesPerSecond: 1_000_000, delay: .milliseconds(20))
        path.run(for: .seconds(540))
        path.worstQueue = .zero
        path.takenByteCount = 0
        path.run(for: .seconds(60))
        #expect(path.worstQueue < FlightWindow.targetDelay * 2)
        #expect(path.takenByteCount > 54_000_000)
    }

    @Test func `a longer path is detected within two epochs`() {
        var path = Path(bytesPerSecond: 1_000_000, delay: .milliseconds(10))
        path.run(for: .seconds(30))
        var longer = Path(bytesPerSecond: 1_000_000, delay: .milliseconds(60), freeAt: path.freeAt, now: path.now)
        longer.window = path.window
        longer.underway = path.underway
        longer.run(for: .seconds(150))
        longer.takenByteCount = 0
        longer.run(for: .seconds(20))
        #expect(longer.takenByteCount > 16_000_000)
    }

    @Test func `the window shrinks within a second on a slower path`() {
        var path = Path(bytesPerSecond: 4_000_000, delay: .milliseconds(20))
        path.run(for: .seconds(10))
        var slower = Path(bytesPerSecond: 500_000, delay: .milliseconds(20), freeAt: path.freeAt, now: path.now)
        slower.window = path.window
        slower.underway = path.underway
        slower.run(for: .seconds(2))
        slower.worstQueue = .zero
        slower.run(for: .seconds(10))
        #expect(slower.worstQueue < .milliseconds(100))
    }

    // S-50; a stream of kind chat needs 400 ms for its four windows of 256 KiB
    @Test func `a megabyte over an empty path with a round trip of 100 ms is acknowledged within 850 ms`() {
        var path = Path(bytesPerSecond: 1_000_000_000, delay: .milliseconds(50))
        path.run(for: .milliseconds(850))
        #expect(path.takenByteCount > 1_000_000)
    }

    // S-50
    @Test func `the window has a minimum, a maximum and an initial value`() {
        var window = FlightWindow()
        #expect(window.byteCount == FlightWindow.initialByteCount)
        #expect(window.allows(at: .zero))
        window.collapse()
        #expect(window.byteCount == FlightWindow.minimumByteCount)
        var path = Path(bytesPerSecond: 2_000_000_000, delay: .milliseconds(20))
        path.run(for: .seconds(2))
        #expect(path.window.byteCount == FlightWindow.maximumByteCount)
        var slow = Path(bytesPerSecond: 10_000, delay: .milliseconds(1))
        slow.window.acknowledged(0, rtt: .milliseconds(2), now: slow.now)
        slow.run(for: .seconds(60))
        #expect(slow.window.byteCount == FlightWindow.minimumByteCount)
        path.window = FlightWindow()
        #expect(path.window == FlightWindow())
    }

    @Test func `abandoned bytes leave the flight, and never more than are in flight`() {
        var window = FlightWindow()
        window.sent(50_000, now: .zero)
        #expect(!window.hasRoom)
        window.abandoned(40_000)
        #expect(window.inFlight == 10_000 && window.hasRoom)
        window.abandoned(30_000)
        #expect(window.inFlight == 0)
        window.acknowledged(5, rtt: nil, now: .zero)
        #expect(window.inFlight == 0)
    }

    @Test func `the transmission of a large frame on a slow path is no queueing delay`() {
        // 16 KiB take 32 ms at 500 kB/s; the short frame before has measured the path.
        var window = FlightWindow()
        var now = Instant.zero
        window.acknowledged(0, rtt: .milliseconds(100), timesBulk: false, now: now)
        for _ in 0..<20 {
            window.sent(16_384, now: now)
            now = now + .milliseconds(132)
            window.acknowledged(16_384, frameByteCount: 16_384, rtt: .milliseconds(132), now: now)
        }
        #expect(window.byteCount >= FlightWindow.initialByteCount)
        for _ in 0..<20 {
            window.sent(16_384, now: now)
            now = now + .milliseconds(132)
            window.acknowledged(16_384, frameByteCount: 64, rtt: .milliseconds(132), now: now)
        }
        #expect(window.byteCount == FlightWindow.minimumByteCount)
    }

    @Test func `the round trip of an interactive frame does not change the window of bulk`() {
        var window = FlightWindow()
        window.sent(16_384, now: .zero)
        window.acknowledged(16_384, rtt: .milliseconds(40), timesBulk: false, now: .zero + .milliseconds(40))
        #expect(window.byteCount == FlightWindow.initialByteCount)
        window.sent(16_384, now: .zero + .milliseconds(40))
        window.acknowledged(16_384, rtt: .milliseconds(41), now: .zero + .milliseconds(81))
        #expect(window.byteCount > FlightWindow.initialByteCount)
    }
}
