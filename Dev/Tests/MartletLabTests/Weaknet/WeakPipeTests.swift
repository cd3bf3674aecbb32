import MartletToolSupport
import MartletWire
import Testing

@testable import MartletLab

@Suite struct WeakPipeTests {
    @Test func `an empty pipe releases the storage of a burst`() {
        var pipe = WeakPipe(WeakLinkProfile(), seed: 1, opening: .zero)
        #expect(passed(1000, through: &pipe) == 1000)
        let little = pipe.storageByteCount
        #expect(little >= 1000)
        #expect(passed(1000, through: &pipe) == 1000)
        #expect(pipe.storageByteCount == little)
        #expect(passed(1 << 17, through: &pipe) == 1 << 17)
        #expect(pipe.heldByteCount == 0)
        #expect(pipe.storageByteCount <= WeakPipe.maxKeptByteCount)
    }

    private func passed(_ byteCount: Int, through pipe: inout WeakPipe) -> Int {
        pipe.push([UInt8](repeating: 1, count: byteCount), now: .zero)
        return unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { memory in
            var buffer = unsafe OutputRawSpan(buffer: memory, initializedCount: 0)
            return pipe.pull(into: &buffer, limit: .max, now: .zero)
        }
    }
}
