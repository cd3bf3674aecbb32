import MartletToolSupport
import MartletWire
import Testing

@testable import MartletLab

@Suite struct WeakLinkTests {
    private let hello = Array("hello".utf8)

    @Test func `bytes arrive after the round trip of the handshake and the delay`() {
        var link = WeakLink(WeakLinkProfile(delay: .milliseconds(100)), seed: 1)
        let number = link.open(now: .zero)
        link.push(hello, number, .up, now: .zero)
        #expect(link.nextArrival(number, after: .zero) == .milliseconds(300))
        #expect(pulled(&link, number, .up, at: .milliseconds(299)) == [])
        #expect(link.isReady(number, .up, now: .milliseconds(300)))
        #expect(pulled(&link, number, .up, at: .milliseconds(300)) == hello)
        #expect(link.nextArrival(number, after: .milliseconds(300)) == nil)
        link.push(hello, number, .down, now: .seconds(1))
        #expect(pulled(&link, number, .up, at: .seconds(2)) == [])
        #expect(pulled(&link, number, .down, at: .milliseconds(1100)) == hello)
        #expect(link.report.upByteCount == 5)
        #expect(link.report.downByteCount == 5)
    }

    @Test func `jitter preserves the order and stays within its bounds`() {
        var link = WeakLink(WeakLinkProfile(delay: .milliseconds(200), jitter: .milliseconds(50)), seed: 3)
        let number = link.open(now: .zero)
        var sent: [UInt8] = []
        var arrivals: [Duration] = []
        var received: [UInt8] = []
        for step in 0..<400 {
            let now = Duration.seconds(1) + .milliseconds(step * 20)
            if step < 300 {
                let byte = UInt8(truncatingIfNeeded: step)
                sent.append(byte)
                link.push([byte], number, .up, now: now)
            }
            let bytes = pulled(&link, number, .up, at: now)
            received += bytes
            arrivals += bytes.map { _ in now }
        }
        #expect(received == sent)
        let delays = arrivals.enumerated().map { $1 - .seconds(1) - .milliseconds($0 * 20) }
        #expect(delays.allSatisfy { $0 >= .milliseconds(150) && $0 <= .milliseconds(270) })
        #expect(Set(delays).count > 3)
    }

    @Test func `a bandwidth delays bytes`() {
        var link = WeakLink(WeakLinkProfile(bytesPerSecond: 1000), seed: 1)
        let number = link.open(now: .zero)
        link.push([UInt8](repeating: 1, count: 10_000), number, .up, now: .zero)
        let halfway = pulled(&link, number, .up, at: .seconds(5)).count
        #expect((3_500...5_000).contains(halfway))
        #expect(pulled(&link, number, .up, at: .milliseconds(9_999)).count + halfway < 10_000)
        _ = pulled(&link, number, .up, at: .seconds(10))
        #expect(link.report.upByteCount == 10_000)
    }

    @Test func `a sender waits while the link is full`() {
        let profile = WeakLinkProfile(delay: .milliseconds(500), jitter: .milliseconds(500), bytesPerSecond: 10_000)
        #expect(profile.maxHeldByteCount == 10_000 + WeakLinkProfile.queueByteCount)
        var link = WeakLink(profile, seed: 1)
        let number = link.open(now: .zero)
        var pushed = 0
        while link.hasRoom(number, .up) {
            link.push([UInt8](repeating: 0, count: 1000), number, .up, now: .zero)
            pushed += 1000
        }
        #expect((profile.maxHeldByteCount..<profile.maxHeldByteCount + 1000).contains(pushed))
        #expect(link.report.maxHeldByteCount == pushed)
        #expect(link.hasRoom(number, .down))
        _ = pulled(&link, number, .up, at: .seconds(4))
        #expect(link.hasRoom(number, .up))
    }

    @Test func `a black hole delays bytes until its end`() {
        var profile = WeakLinkProfile()
        profile.blackHoleAt = .seconds(1)
        profile.blackHoleFor = .seconds(5)
        var link = WeakLink(profile, seed: 1)
        let number = link.open(now: .zero)
        link.push(hello, number, .up, now: .milliseconds(500))
        link.push(hello, number, .up, now: .seconds(2))
        #expect(pulled(&link, number, .up, at: .milliseconds(5_999)) == [])
        #expect(link.firstOpening(from: .seconds(2)) == .seconds(6))
        #expect(link.nextArrival(number, after: .seconds(3)) == .seconds(6))
        #expect(pulled(&link, number, .up, at: .seconds(6)) == hello + hello)
    }

    @Test func `the end arrives after the last byte`() {
        var link = WeakLink(WeakLinkProfile(delay: .milliseconds(10)), seed: 1)
        let number = link.open(now: .zero)
        link.push(hello, number, .up, now: .seconds(1))
        link.pushEnd(number, .up, now: .seconds(1))
        #expect(pull(&link, number, .up, at: .seconds(1)) == .bytes(0))
        #expect(pull(&link, number, .up, at: .seconds(2)) == .bytes(5))
        #expect(link.isReady(number, .up, now: .seconds(2)))
        #expect(pull(&link, number, .up, at: .seconds(2)) == .end)
    }

    @Test func `a connection is cut at its maximum of bytes, after the grace period`() {
        var profile = WeakLinkProfile()
        profile.cutAfterByteCount = 7
        var link = WeakLink(profile, seed: 1)
        let number = link.open(now: .zero)
        link.push(hello, number, .up, now: .zero)
        link.push(hello, number, .down, now: .zero)
        #expect(pulled(&link, number, .up, at: .seconds(1)) == hello)
        #expect(!link.isCut(number, now: .seconds(1)))
        #expect(pulled(&link, number, .down, at: .seconds(1)) == Array("he".utf8))
        #expect(!link.isCut(number, now: .seconds(1)))
        #expect(link.nextArrival(number, after: .seconds(1)) == .seconds(1) + WeakLink.cutGrace)
        #expect(!link.isReady(number, .down, now: .seconds(1)))
        #expect(link.isCut(number, now: .seconds(1) + WeakLink.cutGrace))
        link.close(number)
        #expect(link.report.cutCount == 1)
        #expect(link.report.lostByteCount == 3)
        #expect(pulled(&link, number, .down, at: .seconds(2)) == [])
    }

    @Test func `after the maximum number of cuts there are no more`() {
        var profile = WeakLinkProfile()
        profile.cutAfterByteCount = 5
        profile.maxCutCount = 2
        var link = WeakLink(profile, seed: 1)
        for turn in 1...4 {
            let number = link.open(now: .zero)
            link.push(hello + hello, number, .up, now: .zero)
            #expect(pulled(&link, number, .up, at: .seconds(1)).count == (turn <= 2 ? 5 : 10))
        }
        #expect(link.report.cutCount == 2)
    }

    @Test func `all connections are cut at the interval`() {
        var profile = WeakLinkProfile()
        profile.cutEvery = .seconds(10)
        profile.maxCutCount = 3
        var link = WeakLink(profile, seed: 1)
        let first = link.open(now: .zero)
        let second = link.open(now: .zero)
        #expect(link.cutTime == .seconds(10))
        #expect(link.connectionsToCut(now: .seconds(9)) == [])
        #expect(link.connectionsToCut(now: .seconds(10)) == [first, second])
        link.close(first)
        link.close(second)
        let third = link.open(now: .seconds(11))
        _ = link.open(now: .seconds(11))
        #expect(link.cutTime == .seconds(20))
        #expect(link.connectionsToCut(now: .seconds(35)) == [third])
        #expect(link.cutTime == nil)
        #expect(link.report.cutCount == 3)
    }

    @Test func `corruption flips one bit in each block of each direction`() {
        var profile = WeakLinkProfile()
        profile.corruptOneIn = 100
        var link = WeakLink(profile, seed: 5)
        let number = link.open(now: .zero)
        for direction in WeakLink.Direction.allCases {
            link.push([UInt8](repeating: 0, count: 1000), number, direction, now: .zero)
            let bytes = pulled(&link, number, direction, at: .seconds(1))
            #expect(bytes.filter { $0 != 0 }.count == 10)
        }
        #expect(link.report.corruptedByteCount == 20)
    }

    @Test func `the same seed and the same bytes give the same faults`() {
        func run(seed: UInt64) -> [[UInt8]] {
            var profile = WeakLinkProfile(delay: .milliseconds(20), jitter: .milliseconds(20), bytesPerSecond: 50_000)
            profile.corruptOneIn = 500
            profile.cutAfterByteCount = 4_000
            var link = WeakLink(profile, seed: seed)
            let numbers = [link.open(now: .zero), link.open(now: .zero)]
            var seen: [[UInt8]] = []
            for step in 0..<100 {
                let now = Duration.milliseconds(step * 5)
                for number in numbers {
                    link.push([UInt8](repeating: UInt8(step), count: 100), number, .up, now: now)
                    seen.append(pulled(&link, number, .up, at: now))
                }
            }
            #expect(link.report.cutCount == 2)
            return seen
        }
        #expect(run(seed: 11) == run(seed: 11))
        #expect(run(seed: 11) != run(seed: 12))
    }

    @Test func `a pull returns at most as many bytes as fit`() {
        var link = WeakLink(WeakLinkProfile(), seed: 1)
        let number = link.open(now: .zero)
        let bytes = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        link.push(bytes, number, .up, now: .zero)
        var received: [UInt8] = []
        for _ in 0..<10 { received += pulled(&link, number, .up, at: .seconds(1), capacity: 501) }
        #expect(received == bytes)
    }

    private func pull(
        _ link: inout WeakLink, _ number: Int, _ direction: WeakLink.Direction, at now: Duration
    ) -> WeakLink.Pulled {
        var result = WeakLink.Pulled.bytes(0)
        _ = [UInt8](capacity: 65_536) { result = link.pull(number, direction, into: &$0, now: now) }
        return result
    }

    private func pulled(
        _ link: inout WeakLink, _ number: Int, _ direction: WeakLink.Direction, at now: Duration, capacity: Int = 65_536
    ) -> [UInt8] {
        [UInt8](capacity: capacity) { _ = link.pull(number, direction, into: &$0, now: now) }
    }
}
