import MartletWire
import Testing

@Suite struct FramerTests {
    static func frame(_ text: String) -> [UInt8] {
        FrameHeader(type: .data, flags: .reliable).frame(body: Array(text.utf8))
    }

    @Test func `complete frames are reported in place and leave no buffered bytes`() throws {
        let bytes = Self.frame("one") + Self.frame("two")
        var framer = Framer(maxBodyByteCount: 64)
        var texts: [String] = []
        var liesInInput: [Bool] = []
        let consumed = unsafe try bytes.withUnsafeBytes { buffer throws(WireError) in
            try framer.consume(unsafe RawSpan(_unsafeBytes: buffer)) { _, body in
                texts.append(String(decoding: [UInt8](copying: body), as: UTF8.self))
                unsafe body.withUnsafeBytes { view in
                    liesInInput.append(
                        unsafe view.baseAddress! >= buffer.baseAddress!
                            && view.baseAddress! < buffer.baseAddress! + buffer.count)
                }
                return .proceed
            }
        }
        let left = (framer.bufferedByteCount, framer.storageByteCount)
        #expect(consumed == bytes.count)
        #expect(texts == ["one", "two"])
        #expect(liesInInput == [true, true])
        #expect(left == (0, 0))
    }

    @Test func `a stop leaves the rest of the input unconsumed`() throws {
        let first = Self.frame("one")
        let bytes = first + Self.frame("two")
        var framer = Framer(maxBodyByteCount: 64)
        let consumed = try framer.consume(bytes[...]) { _, _ in .stop }
        #expect(consumed == first.count)
        let rest = try framer.frames(from: Array(bytes[consumed...]), cutAfter: [])
        #expect(rest.map(\.body) == [Array("two".utf8)])
    }

    @Test func `a stop at a frame received in pieces leaves the rest of the input unconsumed`() throws {
        let first = Self.frame("one")
        let bytes = first + Self.frame("two")
        var framer = Framer(maxBodyByteCount: 64)
        _ = try framer.consume(bytes[..<20]) { _, _ in .stop }
        let consumed = try framer.consume(bytes[20...]) { _, _ in .stop }
        let held = (framer.bufferedByteCount, framer.storageByteCount)
        #expect(consumed == first.count - 20)
        #expect(held == (0, RingBuffer.minStorageByteCount))
    }

    @Test func `storage is kept for the next incomplete frame until it is released`() throws {
        let bytes = Self.frame("one")
        var framer = Framer(maxBodyByteCount: 64)
        _ = try framer.consume(bytes[..<20]) { _, _ in .proceed }
        framer.releaseStorage()
        let early = framer.bufferedByteCount
        _ = try framer.consume(bytes[20...]) { _, _ in .proceed }
        let kept = framer.storageByteCount
        framer.releaseStorage()
        let after = framer.storageByteCount
        #expect(early == 20 && kept == RingBuffer.minStorageByteCount && after == 0)
    }

    @Test func `the header of an incomplete frame is available`() throws {
        let bytes = Self.frame("hello")
        var framer = Framer(maxBodyByteCount: 64)
        _ = try framer.frames(from: Array(bytes[..<27]), cutAfter: [])
        let early = framer.pendingHeader
        _ = try framer.frames(from: [bytes[27]], cutAfter: [])
        let pending = framer.pendingHeader
        let frames = try framer.frames(from: Array(bytes[28...]), cutAfter: [])
        let after = framer.pendingHeader
        #expect(early == nil)
        #expect(pending?.type == .data)
        #expect(frames.map(\.header) == [pending])
        #expect(after == nil)
    }

    @Test func `a limit raised between frames applies to the next frame`() throws {
        let bytes = Self.frame("123456789")
        var framer = Framer(maxBodyByteCount: 8)
        framer.maxBodyByteCount = 9
        let frames = try framer.frames(from: bytes, cutAfter: [])
        #expect(frames.count == 1)
        var strict = Framer(maxBodyByteCount: 8)
        #expect(strict.error(from: bytes) == .frameTooLarge(byteCount: 9, limit: 8))
    }

    @Test func `a limit beyond the maximum is clamped to it`() {
        var framer = Framer(maxBodyByteCount: .max)
        let high = framer.maxBodyByteCount
        framer.maxBodyByteCount = -1
        let low = framer.maxBodyByteCount
        #expect(high == FrameHeader.largestBodyByteCount)
        #expect(low == 0)
    }

    // W-2
    @Test func `the end of the stream is an error within a frame and none between frames`() throws {
        let bytes = Self.frame("hello")
        for count in 1..<bytes.count {
            var framer = Framer(maxBodyByteCount: 64)
            _ = try framer.frames(from: Array(bytes[..<count]), cutAfter: [])
            let expected = WireError.unexpectedEOF(missing: (count < 28 ? 28 : bytes.count) - count)
            #expect(thrown { () throws(WireError) in try framer.finish() } == expected)
            #expect(thrown { () throws(WireError) in try framer.finish() } == expected)
        }
        var idle = Framer(maxBodyByteCount: 64)
        try idle.finish()
        _ = try idle.frames(from: bytes, cutAfter: [3])
        try idle.finish()
    }
}
