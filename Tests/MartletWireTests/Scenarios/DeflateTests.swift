import Testing

@testable import MartletWire

/// Each test runs with libdeflate and with zlib as the writer and the reader.
@Suite struct DeflateTests {
    static let text = Array(String(repeating: "The martlet never lands. ", count: 100).utf8)

    static func deflated(_ bytes: [UInt8], level: Int = 6, by codec: Codec = .best) -> [UInt8]? {
        let deflater = Deflater(level: level, codec: codec)
        return deflater.compress(bytes.rawBytes)
    }

    static func inflated(_ bytes: [UInt8], limit: Int = 1 << 20, by codec: Codec) throws(WireError) -> [UInt8] {
        var inflater = Inflater(codec: codec)
        return try inflater.inflate(bytes.rawBytes, limit: limit)
    }

    @Test(arguments: [Codec.best, .zlib], [Codec.best, .zlib])
    func `each library inflates the output of the other`(writer: Codec, reader: Codec) throws {
        for level in [1, 6, 9] {
            let small = try #require(Self.deflated(Self.text, level: level, by: writer))
            #expect(small.count < Self.text.count / 10)
            #expect(try Self.inflated(small, by: reader) == Self.text)
        }
    }

    @Test func `the default library compresses and inflates`() throws {
        let deflater = Deflater()
        var inflater = Inflater()
        let compressed = deflater.compress(Self.text.rawBytes)
        let small = try #require(compressed)
        let back = try inflater.inflate(small.rawBytes, limit: 10_000)
        #expect(back == Self.text)
    }

    @Test(arguments: [Codec.best, .zlib])
    func `one compressor and one decompressor process many bodies`(codec: Codec) throws {
        var random = SeededRandom(seed: 4)
        let deflater = Deflater(level: 6, codec: codec)
        var inflater = Inflater(codec: codec)
        for length in [100, 70_000, 3, 5000, 300_000] {
            let body = (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
            guard let small = deflater.compress(body.rawBytes) else {
                #expect(length == 3)
                continue
            }
            let back = try inflater.inflate(small.rawBytes, limit: length)
            #expect(back == body)
        }
    }

    @Test func `a hundred compressors share a few working memories`() {
        let deflaters = (0..<100).map { _ in Deflater() }
        for deflater in deflaters { _ = deflater.compress(Self.text.rawBytes) }
        // Each test that runs at the same time adds at most one working memory.
        #expect(Deflater.memoryCount < deflaters.count / 2)
    }

    @Test func `working memories of several levels and libraries replace each other within the bound`() {
        for level in 1...9 {
            for codec in [Codec.best, .zlib] {
                let small = Self.deflated(Self.text, level: level, by: codec)
                #expect(small != nil)
            }
        }
        #expect(Deflater.memoryCount < Deflater.maxIdleCount + 50)
    }

    @Test(arguments: [Codec.best, .zlib])
    func `a body that does not become smaller is not compressed`(codec: Codec) {
        var random = SeededRandom(seed: 5)
        #expect(Self.deflated([], by: codec) == nil)
        #expect(Self.deflated([1], by: codec) == nil)
        #expect(Self.deflated([1, 1, 1], by: codec) == nil)
        #expect(Self.deflated(random.bytes(1000), by: codec) == nil)
    }

    // W-19
    @Test(arguments: [Codec.best, .zlib])
    func `output at the limit is accepted, one byte more is refused`(codec: Codec) throws {
        for byteCount in [100, 1023, 1024, 1025, 4096, 40_000] {
            let body = [UInt8](repeating: 0x61, count: byteCount)
            let small = try #require(Self.deflated(body))
            #expect(try Self.inflated(small, limit: byteCount, by: codec) == body)
            for limit in [byteCount - 1, byteCount / 2, 1, 0] {
                let error = thrown { () throws(WireError) in try Self.inflated(small, limit: limit, by: codec) }
                #expect(error == .inflateLimit(limit))
            }
        }
    }

    // W-19
    @Test(arguments: [Codec.best, .zlib])
    func `a decompression bomb fails at the limit`(codec: Codec) throws {
        let bomb = try #require(Self.deflated([UInt8](repeating: 0, count: 16 << 20), level: 9))
        #expect(bomb.count < 20_000)
        for limit in [64 << 10, 1 << 20] {
            let error = thrown { () throws(WireError) in try Self.inflated(bomb, limit: limit, by: codec) }
            #expect(error == .inflateLimit(limit))
        }
    }

    @Test(arguments: [Codec.best, .zlib])
    func `every truncated stream fails, also at the limit`(codec: Codec) throws {
        // libdeflate reads beyond the end of the second body, and inflates more bytes than the original.
        for body in [Self.text, [0xB1, 0xB1, 0, 0, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0xB1, count: 20)] {
            let small = try #require(Self.deflated(body, level: 7))
            for count in 0..<small.count {
                for limit in [body.count, 1 << 20] {
                    let cut = Array(small[..<count])
                    let error = thrown { () throws(WireError) in try Self.inflated(cut, limit: limit, by: codec) }
                    #expect(error == .inflateFailed, "\(count) bytes")
                }
            }
        }
    }

    @Test(arguments: [Codec.best, .zlib])
    func `bytes after the end of the stream fail`(codec: Codec) throws {
        let small = try #require(Self.deflated(Self.text))
        for trailing in [[0], small] as [[UInt8]] {
            let error = thrown { () throws(WireError) in try Self.inflated(small + trailing, by: codec) }
            #expect(error == .inflateFailed)
        }
    }

    // W-19
    @Test(arguments: [Codec.best, .zlib])
    func `a wrong checksum in the stream fails, also at the limit`(codec: Codec) throws {
        var small = try #require(Self.deflated(Self.text))
        small[small.count - 1] ^= 1
        for limit in [Self.text.count, 1 << 20] {
            let error = thrown { () throws(WireError) in try Self.inflated(small, limit: limit, by: codec) }
            #expect(error == .inflateFailed)
        }
    }

    @Test(arguments: [Codec.best, .zlib])
    func `bytes that are no zlib stream fail`(codec: Codec) {
        let gzip: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let dictionary: [UInt8] = [0x78, 0xBB, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1]
        for bytes in [[], [0x78], gzip, dictionary, Self.text] {
            let error = thrown { () throws(WireError) in try Self.inflated(bytes, by: codec) }
            #expect(error == .inflateFailed)
        }
    }

    /// A flipped bit may preserve the meaning of a stream, of which libdeflate accepts more than zlib. The result never
    /// contains other bytes.
    @Test(arguments: [Codec.best, .zlib])
    func `a damaged stream fails or gives the original bytes`(codec: Codec) throws {
        var random = SeededRandom(seed: 6)
        let body = Self.text + random.bytes(200)
        let small = try #require(Self.deflated(body))
        var failureCount = 0
        for bit in 0..<(8 * small.count) {
            var damaged = small
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            do throws(WireError) {
                let bytes = try Self.inflated(damaged, limit: body.count, by: codec)
                #expect(bytes == body, "bit \(bit)")
            } catch {
                #expect(error == .inflateFailed || error == .inflateLimit(body.count), "bit \(bit)")
                failureCount += 1
            }
        }
        #expect(failureCount > 8 * small.count * 99 / 100)
    }
}
