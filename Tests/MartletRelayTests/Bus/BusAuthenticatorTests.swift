import Testing

@testable import MartletRelay

/// Datagrams with a code (R-212, R-213, Specs/hostile.md row 135).
struct BusAuthenticatorTests {
    private let authenticator = BusAuthenticator(key: Array(0..<32))
    private let datagram: [UInt8] = [1] + Array(1...32)

    private func expectRefused(_ sealed: [UInt8], _ fault: BusFault) {
        #expect(throws: fault) { try authenticator.open(sealed) }
    }

    //
    @Test func `a datagram → version 2 with the code, and opened the same`() throws {
        let sealed = authenticator.seal(datagram)
        // In Python: hmac.digest(bytes(range(32)), bytes([2, *range(1, 33)]), "sha256")[:16].hex()
        let code: [UInt8] = [
            0xc4, 0x23, 0xd7, 0xce, 0x27, 0x15, 0x90, 0xb9, 0x1d, 0x7e, 0x5f, 0x41, 0x53, 0x81, 0x13, 0x60,
        ]
        #expect(sealed == [2] + datagram.dropFirst() + code)
        #expect(sealed.count == datagram.count + BusAuthenticator.codeByteCount)
        #expect(try authenticator.open(sealed) == datagram)
        #expect(try authenticator.open(authenticator.seal([1])) == [1])
    }

    //
    @Test func `each bit inverted → refused`() {
        let sealed = authenticator.seal(datagram)
        for bit in 0..<sealed.count * 8 {
            var forged = sealed
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            expectRefused(forged, bit < 8 ? .invalid(.version(forged[0])) : .notAuthenticated)
        }
    }

    //
    @Test func `the code of a different key, or of a different datagram → refused`() {
        expectRefused(BusAuthenticator(key: Array(1...32)).seal(datagram), .notAuthenticated)
        let other = authenticator.seal([1, 2, 3]).suffix(BusAuthenticator.codeByteCount)
        expectRefused([2] + datagram.dropFirst() + other, .notAuthenticated)
    }

    //
    @Test func `a datagram that is cut off, longer or empty → refused`() {
        let sealed = authenticator.seal(datagram)
        for count in 0..<sealed.count {
            let isShort = count <= BusAuthenticator.codeByteCount
            expectRefused(Array(sealed.prefix(count)), isShort ? .invalid(.short) : .notAuthenticated)
        }
        expectRefused(sealed + [0], .notAuthenticated)
    }

    //
    @Test func `versions other than 2 → refused with the version`() {
        expectRefused(datagram, .invalid(.version(1)))
        expectRefused([3], .invalid(.version(3)))
        expectRefused([0] + authenticator.seal(datagram).dropFirst(), .invalid(.version(0)))
    }
}
