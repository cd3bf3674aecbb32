import MartletWire
import Testing

@Suite struct FrameHeaderTests {
    static let sample = FrameHeader(
        type: .data, sequence: 0x0102_0304, timestamp: 0x0506_0708, flags: FrameFlags(.reliable, priority: .normal),
        compression: .zlib, session: SessionID(rawValue: 0x0A0B), bodyByteCount: 0x000C_0D0E, checksum: 0x1112_1314)
    static let sampleBytes: [UInt8] = [
        0x8D, 0x4D, 0x52, 0x54, 1, 0, 0x10, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x21, 1, 0x0A, 0x0B, 0x00, 0x0C, 0x0D, 0x0E,
        0x11, 0x12, 0x13, 0x14,
    ]

    static func parse(_ bytes: [UInt8], maxBodyByteCount: Int = 1 << 20) throws(WireError) -> FrameHeader {
        try FrameHeader(parsing: bytes.rawBytes, maxBodyByteCount: maxBodyByteCount)
    }

    /// Returns the sample with changed bytes.
    static func sample(_ changes: [Int: UInt8]) -> [UInt8] {
        var bytes = sampleBytes
        for (offset, byte) in changes { bytes[offset] = byte }
        return bytes
    }

    // W-4
    @Test func `a header is these 28 bytes`() throws {
        let bytes = [UInt8](capacity: FrameHeader.byteCount) { output in
            Self.sample.encode(into: &output)
        }
        #expect(bytes == Self.sampleBytes)
        #expect(try Self.parse(bytes) == Self.sample)
    }

    // W-4, W-9
    @Test(arguments: [0, 1, 64, 1000]) func `a header and body encoded together equal the encoded frame`(count: Int) {
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let room = FrameHeader.byteCount + count
        let bytes = [UInt8](capacity: room + 2) { output in
            output.append(bigEndian: 7 as UInt8)
            Self.sample.encode(before: body.rawBytes, checksum: CRC32.checksum(body.rawBytes), into: &output)
        }
        #expect(bytes == [7] + Self.sample.frame(body: body.rawBytes))
    }

    // W-39
    @Test func `a header with an unknown minor version is accepted and preserved`() throws {
        #expect(try Self.parse(Self.sample([5: 9])).version == WireVersion(major: 1, minor: 9))
    }

    @Test func `a header with an unknown frame type is accepted`() throws {
        #expect(try Self.parse(Self.sample([6: 0xFE, 7: 0xED])).type == FrameType(rawValue: 0xFEED))
    }

    // W-6, W-16
    @Test(
        arguments: [
            ([0: 0x47, 4: 9, 16: 0xC0, 17: 9, 20: 0xFF], .badMagic(0x474D_5254)),
            ([4: 9, 16: 0xC0, 17: 9, 20: 0xFF], .unsupportedVersion(major: 9)),
            ([16: 0x80, 17: 9, 20: 0xFF], .reservedBits(0x80)),
            ([16: 0x7F, 17: 9, 20: 0xFF], .reservedBits(0x7F)),
            ([17: 9, 20: 0xFF], .frameTooLarge(byteCount: 0xFF0C_0D0E, limit: 1 << 20)),
            ([17: 9], .unsupportedCompression(9)),
            ([17: 2], .unsupportedCompression(2)),
        ] as [([Int: UInt8], WireError)])
    func `a header with several errors reports the first in the order magic, major, reserved bits, length, compression`(
        changes: [Int: UInt8], expected: WireError
    ) {
        #expect(thrown { () throws(WireError) in try Self.parse(Self.sample(changes)) } == expected)
    }

    // W-7
    @Test func `a length at the limit is accepted, one byte more is refused`() throws {
        let limit = Int(Self.sample.bodyByteCount)
        #expect(try Self.parse(Self.sampleBytes, maxBodyByteCount: limit) == Self.sample)
        let error = thrown { () throws(WireError) in try Self.parse(Self.sampleBytes, maxBodyByteCount: limit - 1) }
        #expect(error == .frameTooLarge(byteCount: UInt64(limit), limit: limit - 1))
    }

    // W-7
    @Test func `a length that overflows together with the header is refused`() {
        let bytes = Self.sample([20: 0xFF, 21: 0xFF, 22: 0xFF, 23: 0xFF])
        let error = thrown { () throws(WireError) in
            try Self.parse(bytes, maxBodyByteCount: FrameHeader.largestBodyByteCount)
        }
        #expect(error == .frameTooLarge(byteCount: 0xFFFF_FFFF, limit: 1 << 30))
    }

    @Test func `a valid prefix of a header reports the number of missing bytes`() {
        for count in 0..<FrameHeader.byteCount {
            let error = thrown { () throws(WireError) in try Self.parse(Array(Self.sampleBytes[..<count])) }
            #expect(error == .unexpectedEOF(missing: FrameHeader.byteCount - count))
        }
    }

    // W-6
    @Test(
        arguments: [
            ([0x8C], .badMagic(0x8C00_0000)), ([0x8D, 0x4D, 0x50], .badMagic(0x8D4D_5000)),
            ([0x8D, 0x4D, 0x52, 0x54, 2], .unsupportedVersion(major: 2)),
            (Array("GET / HTTP/1.1".utf8), .badMagic(0x4745_5420)),
            ([], nil), ([0x8D], nil), ([0x8D, 0x4D, 0x52, 0x54], nil), ([0x8D, 0x4D, 0x52, 0x54, 1, 77], nil),
        ] as [([UInt8], WireError?)])
    func `a prefix is accepted or refused by its available bytes`(bytes: [UInt8], expected: WireError?) {
        #expect(thrown { () throws(WireError) in try FrameHeader.checkPrefix(bytes.rawBytes) } == expected)
    }

    // W-9
    @Test func `seal computes the checksum of the body, then of the header before its checksum`() throws {
        let body = Array("123456789".utf8)
        var header = Self.sample
        header.bodyByteCount = UInt32(body.count)
        header.seal(bodyChecksum: CRC32.checksum(of: body))
        #expect(header.flags.contains(.checksummed))
        let bytes = Self.sample.frame(body: body)
        #expect(header.checksum == CRC32.checksum(of: body + bytes[..<24]))
        #expect(header.checksum == FrameHeader.checksum(bodyChecksum: 0xCBF4_3926, header: bytes.rawBytes))
        #expect(try Self.parse(Array(bytes[..<28])) == header)
        #expect(Array(bytes[28...]) == body)
        try header.verify(body: body)
    }

    // W-10
    @Test func `a body with a wrong or missing checksum is refused`() {
        var header = Self.sample
        #expect(thrown { () throws(WireError) in try header.verify(body: []) } == .missingChecksum)
        header.seal(bodyChecksum: 0)
        let right = header.checksum
        header.checksum ^= 1
        let error = thrown { () throws(WireError) in try header.verify(body: []) }
        #expect(error == .badChecksum(expected: right ^ 1, actual: right))
    }
}
