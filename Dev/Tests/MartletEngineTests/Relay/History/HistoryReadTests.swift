import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct HistoryReadTests {
    /// A log that answers reads like a store.
    private struct Log {
        var entries: [LogEntry] = []
        var first: UInt64 = 1
        /// The lowest offset from the second read on.
        var laterFirst: UInt64?
        var readCount = 0

        /// Messages of a number of bytes, accepted at these times.
        init(times: [UInt64], byteCount: Int = 10) {
            for (index, time) in times.enumerated() {
                entries.append(
                    LogEntry(
                        offset: UInt64(index) + 1, sender: .alice, device: DeviceID(rawValue: 1), counter: 1,
                        acceptedAt: time, body: EncodedBody([UInt8](repeating: 0, count: byteCount))))
            }
        }

        init(count: UInt64, byteCount: Int = 10) {
            self.init(times: (1...count).map { $0 * 10 }, byteCount: byteCount)
        }

        mutating func read(_ range: ReadRange) -> [LogEntry] {
            readCount += 1
            if readCount > 1, let laterFirst { first = laterFirst }
            var byteCount = 0
            return entries.drop { $0.offset < max(range.from, first) }.prefix(range.maxCount).prefix { entry in
                defer { byteCount += entry.body.byteCount }
                return byteCount == 0 || byteCount + entry.body.byteCount <= range.maxByteCount
            }.map(\.self)
        }

        /// The offsets of a page. The room knows the log up to `last`.
        mutating func page(_ position: HistoryQuery.Position, limit: Int, last: UInt64? = nil) -> [UInt64] {
            let query = HistoryQuery(position, limit: limit)
            var read = HistoryRead(query, first: first, last: last ?? UInt64(entries.count))
            var step = read.next()
            while case .read(let range) = step { step = read.read(self.read(range), first: first) }
            guard case .answer(let entries, _) = step else { return [] }
            return entries.map(\.offset)
        }
    }

    //
    @Test(
        arguments: [
            (.before(51), 5, [46, 47, 48, 49, 50]), (.before(.max), 2, [99, 100]), (.before(101), 1, [100]),
            (.before(4), 5, [1, 2, 3]), (.before(1), 5, []), (.before(0), 5, []),
            (.after(50), 3, [51, 52, 53]), (.after(0), 2, [1, 2]), (.after(98), 5, [99, 100]), (.after(100), 5, []),
            (.after(.max), 5, []),
        ] as [(HistoryQuery.Position, Int, [UInt64])])
    func `an offset gives the messages beside it, with one read`(
        _ position: HistoryQuery.Position, _ limit: Int, _ expected: [UInt64]
    ) {
        var log = Log(count: 100)
        #expect(log.page(position, limit: limit) == expected)
        #expect(log.readCount == (expected.isEmpty ? 0 : 1))
    }

    //
    @Test(arguments: [.before(4), .after(0), .acceptedFrom(0), .acceptedFrom(.max)] as [HistoryQuery.Position])
    func `a copy that ends before the first message of the store → a page without messages`(
        _ position: HistoryQuery.Position
    ) {
        var log = Log(count: 100)
        log.first = 51
        #expect(log.page(position, limit: 5, last: 3) == [])
    }

    //
    @Test func `messages of more bytes than a page give those nearest to the offset, at least one`() {
        for byteCount in [100, 1000, 5000, 7674, 7675, 15_354, 15_355, 100_000] {
            let fitting = max(1, min(256, HistoryPage.maxByteCount / HistoryPage.byteCount(ofMessage: byteCount)))
            var log = Log(count: 600, byteCount: byteCount)
            #expect(log.page(.after(300), limit: 256) == Array(301..<301 + UInt64(fitting)))
            #expect(log.readCount == 1)
            let back = log.page(.before(301), limit: 256)
            #expect(back.last == 300 && back == Array((back.first ?? 0)...300))
            // A read back that is repeated with half the messages gives at least half a page.
            #expect(back.count <= fitting && 2 * back.count >= fitting)
            #expect(log.readCount <= 10)
        }
    }

    //
    @Test func `messages that are not durable, and those no longer kept, are not read`() {
        var log = Log(count: 100)
        log.first = 41
        #expect(log.page(.after(88), limit: 50, last: 90) == [89, 90])
        #expect(log.page(.before(.max), limit: 3, last: 90) == [88, 89, 90])
        #expect(log.page(.after(5), limit: 2) == [41, 42])
        #expect(log.page(.before(44), limit: 50) == [41, 42, 43])
        #expect(log.page(.before(41), limit: 50) == [])
        log.laterFirst = 60
        log.readCount = 1
        #expect(log.page(.before(44), limit: 50) == [])
        #expect(log.page(.before(62), limit: 50) == [60, 61])
        #expect(log.page(.after(44), limit: 2) == [60, 61])
    }

    //
    @Test func `a room that has lost all its messages gives an empty page`() {
        var log = Log(count: 0 + 1)
        log.first = 2
        for position in [.before(.max), .after(0), .acceptedFrom(0)] as [HistoryQuery.Position] {
            #expect(log.page(position, limit: 5) == [])
        }
        #expect(log.readCount == 0)
    }

    //
    @Test func `a time gives the first message that was accepted then or later, for every time of every log`() {
        for count in 1...40 as ClosedRange<UInt64> {
            for first in [1, 1 + count / 2] {
                for time in stride(from: 0, through: count * 10 + 10, by: 5) {
                    var log = Log(count: count)
                    log.first = first
                    let expected = max((time + 9) / 10, first)
                    #expect(log.page(.acceptedFrom(time), limit: 1) == (expected <= count ? [expected] : []))
                    #expect(log.readCount <= 7)
                }
            }
        }
    }

    //
    @Test func `a clock that was set back gives a message at or after the time, behind an earlier one`() {
        let times: [UInt64] = [10, 20, 30, 5, 15, 25, 35, 45, 2, 12, 50]
        for time in 0...55 as ClosedRange<UInt64> {
            var log = Log(times: times)
            guard let found = log.page(.acceptedFrom(time), limit: 1).first.map(Int.init) else {
                #expect(times.last! < time)
                continue
            }
            #expect(times[found - 1] >= time && (found == 1 || times[found - 2] < time))
        }
    }

    //
    @Test func `messages that are removed during a search give the first one that is kept`() {
        var log = Log(count: 100)
        log.laterFirst = 80
        #expect(log.page(.acceptedFrom(100), limit: 2) == [80, 81])
        log = Log(count: 100)
        log.laterFirst = 101
        #expect(log.page(.acceptedFrom(100), limit: 2) == [])
    }
}
