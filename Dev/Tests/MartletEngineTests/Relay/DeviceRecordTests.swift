import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

//
@Suite struct DeviceRecordTests {
    private func entries(_ counters: [UInt64], at time: UInt64 = 7) -> ArraySlice<LogEntry> {
        counters.map {
            LogEntry(
                offset: 1, sender: .alice, device: DeviceID(rawValue: 1), counter: $0, acceptedAt: time,
                body: EncodedBody([]))
        }[...]
    }

    @Test func `counters in any order -> the answers of a window that was never stored`() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            var record = DeviceRecord()
            var window = DeduplicationWindow()
            var next: UInt64 = 1
            var counters: [UInt64] = []
            for _ in 0..<60 {
                next += 1 + random.next() % 40
                counters.append(next)
            }
            // Some messages are overtaken by later ones.
            for index in stride(from: 1, to: counters.count, by: 5) { counters.swapAt(index, index - 1) }
            for (offset, counter) in counters.enumerated() where window.find(counter) == .new {
                let run = AcceptedRun(firstCounter: counter, count: 1, firstOffset: UInt64(offset + 1))
                window.append(run)
                window.confirm(run)
                record.insert(countersOf: entries([counter]))
            }
            let loaded = DeduplicationWindow(
                DeviceRecord(watermark: record.watermark, seen: record.seen, gaps: record.gaps))
            for counter in 1...next + 70 {
                switch (window.find(counter), loaded.find(counter)) {
                case (.duplicate, .duplicate(nil)): #expect(record.contains(counter))
                case (let before, let after): #expect(before == after)
                }
            }
        }
    }

    @Test func `a counter that a later one has overtaken, before a restart -> new; a stored one -> a duplicate`() {
        var record = DeviceRecord()
        record.insert(countersOf: entries([1, 2, 4], at: 9))
        let window = DeduplicationWindow(record)
        #expect(window.find(3) == .new)
        #expect([1, 2, 4].allSatisfy { window.find($0) == .duplicate(offset: nil) })
        #expect(record.usedAt == 9)
    }

    //
    @Test func `an old counter, after a restart -> too old if it was skipped, a duplicate if it was stored`() {
        var record = DeviceRecord()
        record.insert(countersOf: entries([1, 2] + Array(100...200)))
        let window = DeduplicationWindow(record)
        #expect(window.find(2) == .duplicate(offset: nil))
        #expect(window.find(3) == .tooOld && window.find(99) == .tooOld)
        #expect(window.find(100) == .duplicate(offset: nil))
    }

    @Test func `more gaps than the maximum, also after a division -> the maximum`() {
        var record = DeviceRecord()
        for number in 1...40 as ClosedRange<UInt64> { record.insert(countersOf: entries([number * 10])) }
        for number in 20...30 as ClosedRange<UInt64> { record.insert(countersOf: entries([number * 10 + 5])) }
        #expect(record.gaps.count == DeduplicationWindow.maxGaps)
    }

    //
    @Test func `messages that a store has read, without digests → the digests of their contents`() {
        let stamp = RelayStamp(offset: 1, acceptedAt: 7, sender: .alice, device: DeviceID(rawValue: 1))
        let body = Message(counter: 5, content: MessageContent(text: "five"), relay: stamp).encode()
        let read = LogEntry(
            offset: 1, sender: .alice, device: DeviceID(rawValue: 1), counter: 5, acceptedAt: 7,
            body: EncodedBody(body))
        var record = DeviceRecord()
        record.insert(countersOf: [read])
        let window = DeduplicationWindow(record)
        #expect(window.find(5, digest: read.contentDigest) == .duplicate(offset: nil))
        #expect(window.find(5, digest: read.contentDigest &+ 1) == .reused)
    }
}
