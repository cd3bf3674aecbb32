/// The name of an attachment: SHA-256 of its bytes.
public struct AttachmentDigest: Hashable, Sendable {
    /// The number of bytes of a digest.
    public static let byteCount = 32

    private let words: SIMD4<UInt64>

    /// Creates a digest from its bytes; nil unless there are ``byteCount`` of them.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(bytes.rawBytes)
    }

    /// Creates a digest from its bytes; nil unless there are ``byteCount`` of them.
    init?(_ bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        words = SIMD4(
            bytes.loadUInt64(at: 0), bytes.loadUInt64(at: 8), bytes.loadUInt64(at: 16), bytes.loadUInt64(at: 24))
    }

    /// The bytes of the digest.
    public var bytes: [UInt8] {
        (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64(56 - 8 * ($0 % 8))) }
    }
}

extension AttachmentDigest: CustomStringConvertible {
    /// The bytes in hexadecimal, 64 digits.
    public var description: String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
