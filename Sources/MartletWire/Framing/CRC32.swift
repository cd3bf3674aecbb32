internal import CMartletCodec

/// CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, as in zlib and gzip (RFC 1952 §8; W-9).
@usableFromInline
package enum CRC32 {
    /// Returns the checksum of `bytes`.
    ///
    /// - Parameter crc: The checksum of the preceding bytes; 0 if there are none.
    @usableFromInline
    package static func checksum(_ bytes: RawSpan, continuing crc: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe martlet_crc32(crc, $0.baseAddress, $0.count) }
    }

    /// Returns the checksum of 24 bytes, given as three integers in big-endian order, continued from `crc`.
    static func checksum(_ words: (UInt64, UInt64, UInt64), continuing crc: UInt32) -> UInt32 {
        martlet_crc32_words(crc, words.0.bigEndian, words.1.bigEndian, words.2.bigEndian)
    }

    /// Returns the checksum of 8 bytes, given as an integer in big-endian order.
    static func checksum(_ word: UInt64) -> UInt32 {
        unsafe withUnsafeBytes(of: word.bigEndian) { unsafe martlet_crc32(0, $0.baseAddress, $0.count) }
    }

    /// Returns the checksum as zlib computes it, for comparison in tests.
    static func zlibChecksum(_ bytes: RawSpan, continuing crc: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe martlet_crc32_zlib(crc, $0.baseAddress, $0.count) }
    }
}
