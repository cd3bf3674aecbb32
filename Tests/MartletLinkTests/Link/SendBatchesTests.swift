import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

@Suite struct SendBatchesTests {
    private func body(_ byteCount: Int) -> EncodedBody {
        EncodedBody([UInt8](repeating: 1, count: byteCount))
    }

    private func messages(_ byteCounts: Int...) -> ArraySlice<LogEntry> {
        let entries = byteCounts.map { byteCount in
            LogEntry(
                offset: 1, sender: .alice, device: DeviceID(rawValue: 1), counter: 1, acceptedAt: 0,
                body: body(byteCount))
        }
        return entries[...]
    }

    /// Frames 7, 8 and 9 are messages, 10 to 12 a body's fragments, 13 is a body, 14 and 15 are messages.
    private func batches() -> SendBatches {
        var batches = SendBatches()
        batches.append(.messages(messages(0, 11, 12, 13).dropFirst()), first: 7)
        batches.append(.fragments(EncodedBody([UInt8](repeating: 1, count: 250), fragmentByteCount: 100)), first: 10)
        batches.append(.fragments(body(20)), first: 13)
        batches.append(.messages(messages(14, 15)), first: 14)
        return batches
    }

    @Test func `a frame's body is found by its sequence`() {
        let batches = batches()
        let found = (7...15 as ClosedRange<UInt64>).map { batches.body(of: $0) }
        #expect(found.map(\.body.byteCount) == [11, 12, 13, 250, 250, 250, 20, 14, 15])
        #expect(found.map(\.fragment) == [0, 0, 0, 0, 1, 2, 0, 0, 0])
        #expect([7, 9, 10, 12, 13, 14, 15].map { batches.index(of: $0) } == [0, 0, 1, 1, 2, 3, 3])
    }

    @Test func `a batch is removed with the last of its frames`() {
        var batches = batches()
        for (base, count) in [(7, 4), (9, 4), (10, 3), (12, 3), (14, 1), (15, 1)] as [(UInt64, Int)] {
            batches.drop(before: base, end: 16)
            #expect(batches.count == count)
            #expect(batches.body(of: base).body.byteCount == self.batches().body(of: base).body.byteCount)
        }
        batches.drop(before: 16, end: 16)
        #expect(batches.isEmpty)
    }
}
