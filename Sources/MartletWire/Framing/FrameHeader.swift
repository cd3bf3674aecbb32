/// The header of a frame, 28 bytes (W-4).
///
/// | offset | field | bytes |
/// |---|---|---|
/// | 0 | magic | 4 |
/// | 4, 5 | version major, minor | 1 + 1 |
/// | 6 | type | 2 |
/// | 8 | sequence | 4 |
/// | 12 | timestamp | 4 |
/// | 16 | flags | 1 |
/// | 17 | compression | 1 |
/// | 18 | session | 2 |
/// | 20 | body length | 4 |
/// | 24 | checksum | 4 |
public struct FrameHeader: Equatable, Sendable {
    /// The number of bytes of a header.
    @inlinable
    package static var byteCount: Int { 28 }
    /// The first four bytes of every frame. The first byte is not ASCII, so no text protocol begins with it (W-5).
    @inlinable
    package static var magic: UInt32 { 0x8D4D_5254 }
    /// The number of bytes of the header that the checksum covers: all before the checksum itself.
    @inlinable
    package static var checksummedByteCount: Int { 24 }
    /// The maximum number of bytes of a body in any configuration, 1 GiB.
    @inlinable
    package static var largestBodyByteCount: Int { 1 << 30 }  // bound

    /// The version of the frame format.
    public var version: WireVersion
    /// The type of the frame.
    public var type: FrameType
    /// The low 32 bits of the frame's sequence on its session; 0 in an unreliable frame (W-13).
    public var sequence: UInt32
    /// The number of milliseconds since the link began. The receiver echoes the timestamp and accepts any value (W-15).
    public var timestamp: UInt32
    /// The flags.
    public var flags: FrameFlags
    /// The compression of the body.
    public var compression: Compression
    /// The session of the frame.
    public var session: SessionID
    /// The number of bytes of the body, as sent.
    public var bodyByteCount: UInt32
    /// The CRC-32 of the body as sent, continued over the first 24 bytes of the header.
    public var checksum: UInt32

    /// Creates a header. The method ``seal(bodyChecksum:)`` sets its checksum.
    @inlinable
    package init(
        version: WireVersion = .current, type: FrameType, sequence: UInt32 = 0, timestamp: UInt32 = 0,
        flags: FrameFlags = [], compression: Compression = .none, session: SessionID = .control,
        bodyByteCount: UInt32 = 0, checksum: UInt32 = 0
    ) {
        self.version = version
        self.type = type
        self.sequence = sequence
        self.timestamp = timestamp
        self.flags = flags
        self.compression = compression
        self.session = session
        self.bodyByteCount = bodyByteCount
        self.checksum = checksum
    }
}

extension FrameHeader {
    /// Creates a header from the first 28 bytes of `bytes`.
    ///
    /// - Throws: The first applicable error in this order: `badMagic`, `unsupportedVersion`, `reservedBits`,
    ///   `frameTooLarge`, `unsupportedCompression`. If there are fewer than 28 bytes, `badMagic` or
    ///   `unsupportedVersion` for an invalid prefix, otherwise `unexpectedEOF` (W-6, Specs/hostile.md row 1,
    ///   Specs/hostile.md row 2, Specs/hostile.md row 3, Specs/hostile.md row 9).
    @inline(__always)
    package init(parsing bytes: RawSpan, maxBodyByteCount: Int) throws(WireError) {
        guard bytes.byteCount >= Self.byteCount else {
            try Self.checkPrefix(bytes)
            throw .unexpectedEOF(missing: Self.byteCount - bytes.byteCount)
        }
        let opening = bytes.loadUInt64(at: 0)
        guard opening >> 24 == Self.opening else { throw Self.prefixError(bytes) }
        let tail = bytes.loadUInt64(at: 16)
        flags = FrameFlags(rawValue: UInt8(truncatingIfNeeded: tail >> 56))
        guard flags.isDisjoint(with: .reserved) else { throw .reservedBits(flags.rawValue) }  // W-16
        bodyByteCount = UInt32(truncatingIfNeeded: tail)
        guard Int64(bodyByteCount) <= Int64(maxBodyByteCount) else {
            throw .frameTooLarge(byteCount: UInt64(bodyByteCount), limit: maxBodyByteCount)
        }
        switch UInt8(truncatingIfNeeded: tail >> 48) {
        case Compression.none.rawValue: compression = .none
        case Compression.zlib.rawValue: compression = .zlib
        case let other: throw .unsupportedCompression(other)
        }
        session = SessionID(rawValue: UInt16(truncatingIfNeeded: tail >> 32))
        version = WireVersion(rawValue: UInt16(truncatingIfNeeded: opening >> 16))
        type = FrameType(rawValue: UInt16(truncatingIfNeeded: opening))
        sequence = bytes.loadUInt32(at: 8)
        timestamp = bytes.loadUInt32(at: 12)
        checksum = bytes.loadUInt32(at: 24)
    }

    /// The magic and the major version: the first five bytes of a valid header.
    private static var opening: UInt64 { UInt64(magic) << 8 | UInt64(WireVersion.current.major) }

    /// Verifies the magic and the major version, as far as `bytes` contains them.
    ///
    /// - Throws: `badMagic` or `unsupportedVersion`.
    package static func checkPrefix(_ bytes: RawSpan) throws(WireError) {
        for offset in 0..<min(bytes.byteCount, 5) {
            let expected = UInt8(truncatingIfNeeded: opening >> UInt64(32 - 8 * offset))
            if bytes.loadUInt8(at: offset) != expected { throw prefixError(bytes) }
        }
    }

    private static func prefixError(_ bytes: RawSpan) -> WireError {
        var found: UInt32 = 0
        for offset in 0..<min(bytes.byteCount, 4) {
            found |= UInt32(bytes.loadUInt8(at: offset)) << UInt32(24 - 8 * offset)
        }
        return found == magic ? .unsupportedVersion(major: bytes.loadUInt8(at: 4)) : .badMagic(found)
    }

    /// Appends the 28 bytes of the header, with the stored checksum.
    ///
    /// - Precondition: The header fits into the buffer.
    @_lifetime(output: copy output)
    package func encode(into output: inout OutputRawSpan) {
        let fields = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, checksum.bigEndian)
        unsafe output.append(fields, as: (UInt64, UInt64, UInt64, UInt32).self)
    }

    /// Appends a frame: the header with the length and the checksum of `body`, then `body`.
    ///
    /// - Precondition: The frame fits into the buffer.
    @_lifetime(output: copy output)
    @usableFromInline
    package func encode(before body: RawSpan, checksum bodyChecksum: UInt32, into output: inout OutputRawSpan) {
        sealed(before: body, checksum: bodyChecksum).encode(into: &output)
        output.append(bytes: body)
    }

    /// Returns a complete frame: the header with the length and the checksum of `body`, then `body`.
    ///
    /// The method allocates an array. A sender of many frames encodes into one buffer instead.
    ///
    /// - Precondition: The body has at most `largestBodyByteCount` bytes.
    package func frame(body: RawSpan) -> [UInt8] {
        precondition(body.byteCount <= Self.largestBodyByteCount, "the body is too large")
        let header = sealed(before: body, checksum: CRC32.checksum(body))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount + body.byteCount)
        for word in [header.words.0, header.words.1, header.words.2] { bytes.append(bigEndian: word) }
        bytes.append(bigEndian: header.checksum)
        bytes.append(bytes: body)
        return bytes
    }

    /// Returns the header with the length of `body` and the flag `checksummed`.
    @inline(__always)
    private func sealed(before body: RawSpan, checksum bodyChecksum: UInt32) -> FrameHeader {
        var header = self
        header.bodyByteCount = UInt32(truncatingIfNeeded: body.byteCount)
        header.seal(bodyChecksum: bodyChecksum)
        return header
    }

    /// The first 24 bytes as three integers.
    private var words: (UInt64, UInt64, UInt64) {
        (
            UInt64(Self.magic) << 32 | UInt64(version.rawValue) << 16 | UInt64(type.rawValue),
            UInt64(sequence) << 32 | UInt64(timestamp),
            UInt64(flags.rawValue) << 56 | UInt64(compression.rawValue) << 48 | UInt64(session.rawValue) << 32
                | UInt64(bodyByteCount)
        )
    }
}

extension FrameHeader {
    /// Returns the checksum of a frame: the CRC-32 of the body, continued over the first 24 bytes of `header` (W-9).
    ///
    /// Because the header follows, the checksum of a body that is sent to many receivers is computed once.
    ///
    /// - Precondition: `header` has at least 24 bytes.
    package static func checksum(bodyChecksum: UInt32, header: RawSpan) -> UInt32 {
        let words = (header.loadUInt64(at: 0), header.loadUInt64(at: 8), header.loadUInt64(at: 16))
        return CRC32.checksum(words, continuing: bodyChecksum)
    }

    /// Sets the flag `checksummed`, and the checksum from that of the body.
    package mutating func seal(bodyChecksum: UInt32) {
        flags.insert(.checksummed)
        checksum = CRC32.checksum(words, continuing: bodyChecksum)
    }

    /// Verifies the checksum of a frame with `body` (W-10, Specs/hostile.md row 7).
    ///
    /// - Throws: `missingChecksum` if the flag `checksummed` is not set, `badChecksum` if the checksum differs.
    package func verify(body: RawSpan) throws(WireError) {
        try verify(flags.contains(.checksummed) ? CRC32.checksum(words, continuing: CRC32.checksum(body)) : nil)
    }

    /// Verifies the checksum of a frame whose encoded header is at the start of `head`. Reading these bytes is faster
    /// than encoding the header again.
    @inline(__always)
    func verify(body: RawSpan, head: RawSpan) throws(WireError) {
        let summed = head.extracting(first: Self.checksummedByteCount)
        try verify(flags.contains(.checksummed) ? CRC32.checksum(summed, continuing: CRC32.checksum(body)) : nil)
    }

    private func verify(_ actual: UInt32?) throws(WireError) {
        guard let actual else { throw .missingChecksum }
        if actual != checksum { throw .badChecksum(expected: checksum, actual: actual) }
    }
}
