/// The AuthMessage of RFC 5802 §3: the messages that proof and signature cover.
struct SCRAMTranscript {
    private let message: [UInt8]

    init(clientFirstBare: [UInt8], serverFirst: [UInt8], withoutProof: [UInt8]) {
        message = Array([clientFirstBare, serverFirst, withoutProof].joined(separator: ",".utf8))
    }

    /// The ClientSignature or ServerSignature: the HMAC of the messages with the StoredKey or the ServerKey.
    func signature(_ key: SCRAMSecret) -> [UInt8] {
        SCRAMHash.code(key: key.bytes, message)
    }
}
