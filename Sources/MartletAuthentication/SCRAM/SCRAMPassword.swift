/// A password of 1 to 1024 bytes of UTF-8 without control characters.
///
/// Of SASLprep (RFC 4013) only the part for ASCII is implemented, which prohibits control characters. Other characters
/// are taken as they are, without normalization. A password therefore must be entered in the same Unicode form each
/// time; NFC is usual (C-86).
struct SCRAMPassword: Sendable {
    private let secret: SCRAMSecret

    init(_ text: String) throws(SCRAMError) {
        guard SCRAMLimits.passwordByteCount.contains(text.utf8.count), !text.containsControlCharacters else {
            throw .invalidPassword
        }
        secret = SCRAMSecret(Array(text.utf8))
    }

    /// The SaltedPassword of RFC 5802 §3.
    func salted(_ salt: [UInt8], iterations: Int) -> SaltedPassword {
        SaltedPassword(SCRAMHash.key(password: secret.bytes, salt: salt, iterations: iterations))
    }
}

/// The keys that derive from a password (RFC 5802 §3).
struct SaltedPassword {
    /// The ClientKey, with which a client proves that it knows the password.
    let clientKey: SCRAMSecret
    /// The ServerKey, with which a server proves that it knows the record.
    let serverKey: SCRAMSecret

    fileprivate init(_ saltedPassword: [UInt8]) {
        clientKey = SCRAMSecret(SCRAMHash.code(key: saltedPassword, Array("Client Key".utf8)))
        serverKey = SCRAMSecret(SCRAMHash.code(key: saltedPassword, Array("Server Key".utf8)))
    }

    /// The StoredKey, with which a server verifies the proof.
    var storedKey: SCRAMSecret { SCRAMSecret(SCRAMHash.digest(clientKey.bytes)) }
}
