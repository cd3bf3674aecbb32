import MartletWire
import Testing

@Suite struct RingBufferTests {
    static func held(_ ring: borrowing RingBuffer) -> [UInt8] {
        [UInt8](copying: ring.firstRegion) + [UInt8](copying: ring.secondRegion)
    }

    @Test func `an empty ring has no storage`() {
        var ring = RingBuffer(maxByteCount: 1 << 30)
        let accepted = ring.write([])
        let (storage, isEmpty, regions) = (ring.storageByteCount, ring.isEmpty, Self.held(ring))
        #expect(accepted == 0)
        #expect(storage == 0)
        #expect(isEmpty)
        #expect(regions == [])
    }

    @Test func `storage doubles with the written bytes and is released only on request`() {
        var ring = RingBuffer(maxByteCount: 4096)
        var sizes: [Int] = []
        for _ in 0..<5 {
            _ = ring.write([UInt8](repeating: 7, count: 50))
            sizes.append(ring.storageByteCount)
        }
        #expect(sizes == [64, 128, 256, 256, 256])
        ring.releaseStorage()
        let kept = (ring.count, ring.storageByteCount)
        #expect(kept == (250, 256))
        ring.discard(250)
        let drained = ring.storageByteCount
        #expect(drained == 256)
        ring.releaseStorage()
        let released = ring.storageByteCount
        #expect(released == 0)
    }

    @Test func `storage never exceeds the maximum of the ring`() {
        var ring = RingBuffer(maxByteCount: 300)
        _ = ring.write([UInt8](repeating: 7, count: 257))
        let first = ring.storageByteCount
        ring.discard(250)
        _ = ring.write([UInt8](repeating: 8, count: 293))
        let (held, full) = (Self.held(ring), ring.storageByteCount)
        #expect((first, full) == (300, 300))
        #expect(held == [UInt8](repeating: 7, count: 7) + [UInt8](repeating: 8, count: 293))
    }

    @Test func `a write to a full ring appends only the bytes that fit`() {
        var ring = RingBuffer(maxByteCount: 10)
        let accepted = [
            ring.write([1, 2, 3, 4, 5, 6, 7]), ring.write([8, 9, 10, 11]), ring.write([12]),
        ]
        let (held, free) = (Self.held(ring), ring.freeByteCount)
        #expect(accepted == [7, 3, 0])
        #expect(held == Array(1...10))
        #expect(free == 0)
        ring.maxByteCount = 4
        let lowered = (ring.count, ring.freeByteCount)
        #expect(lowered == (10, 0))
    }

    @Test func `a ring that wraps around has two regions until it is linearized`() {
        var ring = RingBuffer(maxByteCount: 64)
        _ = ring.write([UInt8](0..<60))
        ring.discard(50)
        _ = ring.write([UInt8](100..<120))
        let expected = [UInt8](50..<60) + [UInt8](100..<120)
        let (first, second, wrapped) = (ring.firstRegion.byteCount, ring.secondRegion.byteCount, Self.held(ring))
        #expect((first, second) == (14, 16))
        #expect(wrapped == expected)
        ring.linearize()
        let (whole, rest) = ([UInt8](copying: ring.firstRegion), ring.secondRegion.byteCount)
        #expect(whole == expected)
        #expect(rest == 0)
        ring.linearize()
        let again = [UInt8](copying: ring.firstRegion)
        #expect(again == expected)
    }

    @Test func `removing all bytes releases the storage`() {
        var ring = RingBuffer(maxByteCount: 64)
        _ = ring.write([1, 2, 3])
        ring.removeAll()
        let after = (ring.count, ring.storageByteCount)
        #expect(after == (0, 0))
    }

    @Test func `random writes and discards preserve the order of the bytes`() throws {
        var random = SeededRandom(seed: 3)
        var ring = RingBuffer(maxByteCount: 1000)
        var model: [UInt8] = []
        for step in 0..<5000 {
            let bytes = random.bytes(Int.random(in: 0...300, using: &random))
            let accepted = ring.write(bytes)
            #expect(accepted == min(bytes.count, 1000 - model.count))
            model += bytes.prefix(accepted)
            if step % 7 == 0 { ring.linearize() }
            let (held, storage) = (Self.held(ring), ring.storageByteCount)
            try #require(held == model, "step \(step)")
            #expect(storage <= 1000)
            let discarded = Int.random(in: 0...model.count, using: &random)
            ring.discard(discarded)
            model.removeFirst(discarded)
        }
    }

    @Test func `discarding more bytes than the ring contains traps`() async {
        await #expect(processExitsWith: .failure) {
            var ring = RingBuffer(maxByteCount: 64)
            _ = ring.write([1])
            ring.discard(2)
        }
    }
}
