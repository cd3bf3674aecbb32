import CMartletCrypto

/// The functions H, HMAC and Hi of RFC 5802 §2.2 with SHA-256 (RFC 7677).
package enum SCRAMHash {
    /// The number of bytes of a digest, a code and a key.
    static let byteCount = martlet_sha256_byte_count

    /// H: the SHA-256 of these bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        unsafe martlet_sha256(bytes, bytes.count, &digest)
        return digest
    }

    /// HMAC-SHA-256 (RFC 2104).
    package static func code(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: byteCount)
        let isDone = unsafe martlet_hmac_sha256(key, key.count, bytes, bytes.count, &code)
        precondition(isDone == 1, "HMAC-SHA-256 is not available")
        return code
    }

    /// Hi: PBKDF2 with HMAC-SHA-256 (RFC 8018 §5.2).
    static func key(
        password: [UInt8], salt: [UInt8], iterations: Int, byteCount: Int = byteCount
    ) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: byteCount)
        let isDone = unsafe martlet_pbkdf2_hmac_sha256(
            password, password.count, salt, salt.count, UInt32(iterations), &key, byteCount)
        precondition(isDone == 1, "PBKDF2-HMAC-SHA-256 is not available")
        return key
    }

    /// The exclusive or of two sequences of the same length.
    static func exclusiveOr(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        zip(left, right).map { $0 ^ $1 }
    }

    /// Returns whether both sequences are equal, in a time that depends on their lengths only.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe martlet_equal_in_constant_time(left, right, left.count) == 1
    }
}
