import MartletAuthentication

/// The headers that prove to a gateway that the relay has sent a request, and when.
struct WebhookSignature: Equatable {
    /// The name of the header with the time.
    static let timestampHeader = "Martlet-Timestamp"
    /// The name of the header with the code.
    static let signatureHeader = "Martlet-Signature"

    /// The seconds since 1970, in decimal.
    let timestamp: String
    /// "sha256=" and the code in hexadecimal: HMAC-SHA-256 (RFC 2104) of the timestamp, a period and the body.
    let signature: String

    /// Signs a body.
    init(_ body: [UInt8], secret: [UInt8], at seconds: UInt64) {
        timestamp = "\(seconds)"
        let signed = Array(timestamp.utf8) + [UInt8(ascii: ".")] + body
        let code = SCRAMHash.code(key: secret, signed)
        signature = "sha256=" + code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
