import CMartletCrypto

/// What arrived, held against what was sent, by nothing but the two texts.
struct DemoComparison: Equatable, Sendable {
    /// The digest of what was sent.
    var sentDigest: String
    /// The digest of what arrived.
    var receivedDigest: String
    /// Lines that arrived.
    var receivedLineCount: Int
    /// Lines that arrived more often than they were sent.
    var duplicateCount: Int
    /// Lines that were sent more often than they arrived.
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

    /// Whether both texts are the same, byte for byte.
    var isIdentical: Bool { sentDigest == receivedDigest }

    /// The SHA-256 digest in hexadecimal.
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
