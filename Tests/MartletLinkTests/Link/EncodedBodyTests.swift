import MartletWire
import Testing

@testable import MartletLink

@Suite struct EncodedBodyTests {
    @Test(arguments: [0, 1, 99, 100, 101, 200, 250])
    func `each fragment of a body has its own checksum`(byteCount: Int) {
        let plain = (0..<byteCount).map { UInt8($0) }
        let body = EncodedBody(plain, fragmentByteCount: 100, isSummed: true)
        #expect(body.bytes == plain && body.plainByteCount == byteCount)
        #expect(body.fragmentCount == max(1, (byteCount + 99) / 100))
        var joined: [UInt8] = []
        for index in 0..<body.fragmentCount {
            let fragment = body.fragment(index)
            let bytes = Array(body.bytes[fragment.range])
            #expect(fragment.checksum == CRC32.checksum(bytes.rawBytes) && fragment.compression == .none)
            #expect(body.byteCount(ofFragment: index) == bytes.count)
            #expect(body.plainByteCount(ofFragment: index) == bytes.count)
            joined += bytes
        }
        #expect(joined == plain)
    }

    // S-43
    @Test func `each fragment is compressed separately if that makes it smaller`() throws {
        var random = SeededRandom(seed: 1)
        let noise = (0..<100).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let plain = [UInt8](repeating: 1, count: 100) + noise + [UInt8](repeating: 2, count: 50)
        let deflater = Deflater()
        var inflater = Inflater()
        let body = EncodedBody(compressing: plain, fragmentByteCount: 100, with: deflater)
        #expect((0..<3).map { body.fragment($0).compression } == [.zlib, .none, .zlib])
        #expect((0..<3).map { body.plainByteCount(ofFragment: $0) } == [100, 100, 50])
        #expect(body.byteCount(ofFragment: 1) == 100 && body.bytes.count < 200)
        var joined: [UInt8] = []
        for index in 0..<3 {
            let fragment = body.fragment(index)
            let bytes = Array(body.bytes[fragment.range])
            joined += fragment.compression == .none ? bytes : try inflater.inflate(bytes.rawBytes, limit: 100)
        }
        #expect(joined == plain)
        let small = EncodedBody(compressing: [UInt8](repeating: 1, count: 90), fragmentByteCount: 100, with: deflater)
        #expect(small.fragmentCount == 1 && small.fragment(0).compression == .zlib && small.plainByteCount == 90)
    }
}
