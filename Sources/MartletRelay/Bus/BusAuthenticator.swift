import MartletAuthentication
import MartletWire

/// The authentication of datagrams by the key of a store, which only its relays can read.
struct BusAuthenticator: Sendable {
    /// The version of a datagram with a code. The bytes behind its version and before the code are those of version 1
    ///
    static let version: UInt8 = 2
    /// The number of bytes of a code: HMAC-SHA-256, truncated to its first half (RFC 2104 §5).
    static let codeByteCount = 16

    private let key: [UInt8]

    init(key: [UInt8]) { self.key = key }

    /// A datagram with its code, by which it is `codeByteCount` bytes longer.
    func seal(_ datagram: [UInt8]) -> [UInt8] {
        var sealed = datagram
        sealed[0] = Self.version
        return sealed + code(of: sealed)
    }

    /// The datagram that was sealed. The bytes are those of whoever may send on the bus (Specs/hostile.md row 135).
    func open(_ sealed: [UInt8]) throws(BusFault) -> [UInt8] {
        if let version = sealed.first, version != Self.version { throw .invalid(.version(version)) }
        guard sealed.count > Self.codeByteCount else { throw .invalid(.short) }
        var datagram = Array(sealed.dropLast(Self.codeByteCount))
        // The duration of the comparison reveals nothing about the right code.
        guard SCRAMHash.areEqual(code(of: datagram), Array(sealed.suffix(Self.codeByteCount))) else {
            throw .notAuthenticated
        }
        datagram[0] = BusHead.version
        return datagram
    }

    private func code(of bytes: [UInt8]) -> [UInt8] {
        Array(SCRAMHash.code(key: key, bytes).prefix(Self.codeByteCount))
    }
}
