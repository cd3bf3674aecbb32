import MartletLink
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletRelay

//
@Suite struct StoredBatchTests {
    private func fields(_ entries: [LogEntry]) -> [String] {
        entries.map { "\($0.offset) \($0.sender) \($0.device) \($0.counter) \($0.acceptedAt) \($0.body.bytes)" }
    }

    @Test func `messages of two devices -> the same messages`() throws {
        let batch =
            entries(7...9) + entries(10...10, device: 2, counter: .max - 10, at: 900)
            + entries(11...12, of: "bob", counter: 88, at: UInt64(Int64.max) - 1, byteCount: 0)
        let decoded = try StoredBatch.decode(StoredBatch.encode(batch[...]), firstOffset: 7)
        #expect(fields(decoded) == fields(batch))
    }

    @Test func `two messages -> the bytes of the specification`() {
        let batch = entries(1...2, of: "al", device: 0x0102, counter: 4, at: 3, byteCount: 2)
        let text = StoredBatch.encode(batch[...]).map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        #expect(text == "010402616c0000000000000102080601020500000203" + "10c6bebc")
    }

    @Test func `a flipped bit -> a checksum fault`() {
        let bytes = StoredBatch.encode(entries(1...3)[...])
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: StoredBatch.Fault.checksum) { try StoredBatch.decode(changed, firstOffset: 1) }
        }
    }

    @Test func `truncated or invented bytes with a valid checksum -> a fault`() {
        let bytes = Array(StoredBatch.encode(entries(1...3)[...]).dropLast(4))
        for count in 2..<bytes.count {
            _ = try? StoredBatch.decode(summed(Array(bytes.prefix(count))), firstOffset: 1)
        }
        let malformed: [[UInt8]] = [
            [1, 1], [1, 0x80], [1, 0, 1, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0],
            [1] + [UInt8](repeating: 0xFF, count: 11), [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
        ]
        for bytes in malformed {
            #expect(throws: StoredBatch.Fault.malformed) { try StoredBatch.decode(summed(bytes), firstOffset: 1) }
        }
        #expect(throws: StoredBatch.Fault.version(2)) { try StoredBatch.decode(summed([2]), firstOffset: 1) }
        #expect(throws: StoredBatch.Fault.malformed) { try StoredBatch.decode([1], firstOffset: 1) }
    }

    private func summed(_ bytes: [UInt8]) -> [UInt8] {
        let checksum = CRC32.checksum(bytes.rawBytes)
        return bytes + stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: checksum >> UInt32($0)) }
    }
}
