import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode

@Suite struct FrameCutterTests {
    private let ping = frame(.ping(Ping(nonce: 7)))

    @Test func `frames in pieces of any size → their offsets`() throws {
        let bytes = ping + ping
        for pieceByteCount in [1, 29, bytes.count] {
            let cutter = FrameCutter(maxBodyByteCount: 100)
            var offsets: [Int] = []
            for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
                cutter.feed(Array(bytes[start..<min(start + pieceByteCount, bytes.count)]))
                while let cut = try cutter.next() { offsets.append(cut.offset) }
            }
            #expect(offsets == [0, ping.count])
            #expect(cutter.frameCount == 2)
            #expect(throws: Never.self) { try cutter.finish() }
        }
    }

    @Test(arguments: [1, 30])
    func `a wrong checksum of the body → a fault with the valid header`(pieceByteCount: Int) {
        var bytes = ping
        bytes[40] ^= 1
        let cutter = FrameCutter(maxBodyByteCount: 100)
        var fault: DecodeFault?
        for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
            cutter.feed(Array(bytes[start..<min(start + pieceByteCount, bytes.count)]))
            do throws(DecodeFault) { while try cutter.next() != nil {} } catch { fault = error }
        }
        #expect(fault?.code == .badChecksum)
        #expect(fault?.header?.type == .ping)
    }

    @Test func `the cutter returns no frames after a framing error`() {
        let cutter = FrameCutter(maxBodyByteCount: 100)
        cutter.feed([0x8D, 0, 0, 0])
        #expect(throws: DecodeFault.self) { try cutter.next() }
        cutter.feed(ping)
        #expect(throws: DecodeFault.self) { try cutter.next() }
        #expect(cutter.fault?.code == .badMagic)
        #expect(cutter.fault?.header == nil)
        #expect(throws: Never.self) { try cutter.finish() }
    }

    @Test func `the end of the input inside a frame → unexpectedEOF with its header`() throws {
        let cutter = FrameCutter(maxBodyByteCount: 100)
        cutter.feed(Array(ping.dropLast()))
        #expect(try cutter.next()?.offset == nil)
        #expect(cutter.bufferedByteCount == ping.count - 1)
        let fault = #expect(throws: DecodeFault.self) { try cutter.finish() }
        #expect(fault?.code == .unexpectedEOF)
        #expect(fault?.header?.type == .ping)
    }
}
