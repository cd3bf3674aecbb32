import CMartletSystem
import CMartletTLS

/// A public key: the SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 §2.4).
public struct TLSPin: Sendable, Hashable {
    /// The length of a pin in bytes.
    public static let byteCount = 32

    /// The hash.
    public let bytes: [UInt8]

    /// Creates a pin of 32 bytes; nil for another number of bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == TLSPin.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Parses 64 hexadecimal digits, with or without colons between bytes; nil for other texts.
    public init?(hexadecimal text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }.map { UInt8(clamping: hexadecimalDigit($0) ?? 16) }
        guard digits.count == 2 * TLSPin.byteCount, digits.allSatisfy({ $0 < 16 }) else { return nil }
        bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Reads the key of the first certificate of a PEM file. Throws `TLSError.invalidFile`.
    public init(ofCertificate path: String) throws(TLSError) {
        var bytes = [UInt8](repeating: 0, count: TLSPin.byteCount)
        guard unsafe martlet_tls_pin_of_file(path, &bytes) == 0 else {
            throw .invalidFile(path: path, reason: Self.fault(ofFile: path))
        }
        self.bytes = bytes
    }

    /// The reason why a file has no certificate: the error of the system if the file cannot be read.
    private static func fault(ofFile path: String) -> String {
        var bytes: [UInt8] = [0]
        let count = unsafe martlet_file_read(path, &bytes, bytes.count)
        return count < 0 ? systemText { unsafe martlet_error_text(Int32(-count), &$0, $1) } : "no certificate"
    }
}

extension TLSPin: CustomStringConvertible {
    /// 64 hexadecimal digits.
    public var description: String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

private func hexadecimalDigit(_ byte: UInt8) -> Int? {
    Character(UnicodeScalar(byte)).hexDigitValue
}
