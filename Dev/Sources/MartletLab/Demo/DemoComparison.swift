import CMartletCrypto

/// The comparison of the received text with the sent text.
struct DemoComparison: Equatable, Sendable {
    /// The SHA-256 digest of the sent text.
    var sentDigest: String
    /// The SHA-256 digest of the received text.
    var receivedDigest: String
    /// The number of received lines.
    var receivedLineCount: Int
    /// The number of lines received more often than sent.
    var duplicateCount: Int
    /// The number of lines sent more often than received.
    var lossCount: Int

    init(sent: [UInt8], received: [UInt8]) {
        sentDigest = Self.digest(sent)
        receivedDigest = Self.digest(received)
        var surplus: [ArraySlice<UInt8>: Int] = [:]
        for line in Self.lines(sent) { surplus[line, default: 0] -= 1 }
        let lines = Self.lines(received)
        for line in lines { surplus[line, default: 0] += 1 }
        receivedLineCount = lines.count
        duplicateCount = surplus.values.reduce(0) { $0 + max($1, 0) }
        lossCount = surplus.values.reduce(0) { $0 + max(-$1, 0) }
    }

    /// Whether both texts have the same bytes.
    var isIdentical: Bool { sentDigest == receivedDigest }

    /// Returns the SHA-256 digest in hexadecimal.
    private static func digest(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: martlet_sha256_byte_count)
        unsafe martlet_sha256(bytes, bytes.count, &digest)
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }
}
