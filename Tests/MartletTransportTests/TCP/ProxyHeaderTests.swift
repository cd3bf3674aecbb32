import MartletWire
import Testing

@testable import MartletTransport

@Suite struct ProxyHeaderTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    private static func binary(_ command: UInt8, _ family: UInt8, _ body: [UInt8], byteCount: Int? = nil) -> [UInt8] {
        let count = byteCount ?? body.count
        return signature + [command, family, UInt8(count >> 8), UInt8(count & 255)] + body
    }

    private static let ipv4: [UInt8] = [192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 1, 187]
    private static let ipv6 =
        [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7] + [UInt8](repeating: 1, count: 16)
        + [0xDC, 0x04, 1, 187]
    private static let mapped =
        [UInt8](repeating: 0, count: 10) + [255, 255, 192, 0, 2, 7] + [UInt8](repeating: 1, count: 16)
        + [0xDC, 0x04, 1, 187]

    static let valid: [([UInt8], String?)] = [
        (Array("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n".utf8), "192.0.2.7:56324"),
        (Array("PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n".utf8), "[2001:db8::7]:56324"),
        (Array("PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 56324 443\r\n".utf8), "192.0.2.7:56324"),
        (Array("PROXY UNKNOWN\r\n".utf8), nil),
        (Array("PROXY UNKNOWN ffff:f... 65535\r\n".utf8), nil),
        (binary(0x21, 0x11, ipv4), "192.0.2.7:56324"),
        (binary(0x21, 0x21, ipv6), "[2001:db8::7]:56324"),
        (binary(0x21, 0x21, mapped), "192.0.2.7:56324"),
        (binary(0x21, 0x11, ipv4 + [4, 0, 1, 0]), "192.0.2.7:56324"),
        (binary(0x20, 0x00, []), nil), (binary(0x20, 0x11, ipv4), nil), (binary(0x21, 0x00, []), nil),
        (binary(0x21, 0x12, ipv4), nil), (binary(0x21, 0x31, [UInt8](repeating: 1, count: 216)), nil),
        (binary(0x21, 0x11, ipv4 + [UInt8](repeating: 0, count: 2_048 - 28)), "192.0.2.7:56324"),
    ]

    // C-114
    @Test(arguments: valid) func `a header cut at every byte → the same address, and the bytes behind it remain`(
        _ bytes: [UInt8], _ address: String?
    ) {
        let expected = address.flatMap { SocketAddress($0) }
        for cut in 0...bytes.count {
            var header = ProxyHeader()
            let first = header.receive(Array(bytes[..<cut]).rawBytes)
            guard cut < bytes.count else {
                #expect(first == .complete(expected, byteCount: cut))
                continue
            }
            #expect(first == .incomplete)
            #expect(
                header.receive(Array(bytes[cut...] + [22, 3, 1]).rawBytes)
                    == .complete(expected, byteCount: bytes.count - cut))
        }
    }

    static let invalid: [[UInt8]] = [
        Array("PROXX".utf8), Array("GET / HTTP/1.1\r\n".utf8), [22, 3, 1, 2, 0], [0x4D, 0x52, 0x54],
        Array("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\n".utf8),
        Array("PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n".utf8),
        Array("PROXY TCP4 192.0.2.7 198.51.100.1 +1 443\r\n".utf8),
        Array("PROXY TCP4 2001:db8::7 198.51.100.1 1 443\r\n".utf8),
        Array("PROXY TCP6 fe80::1%lo fe80::2 1 443\r\n".utf8),
        Array("PROXY TCP4  192.0.2.7 198.51.100.1 1 443\r\n".utf8),
        Array("PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n".utf8), Array("PROXY \r\n".utf8),
        Array("PROXY UNKNOWN \u{FF}".utf8) + [0xFF, 13, 10],
        Array(("PROXY UNKNOWN " + String(repeating: "a", count: 94)).utf8),
        binary(0x11, 0x11, ipv4), binary(0x22, 0x11, ipv4), binary(0x21, 0x11, [192, 0, 2]),
        binary(0x21, 0x21, ipv4), binary(0x21, 0x11, [], byteCount: 2_033), Array(signature.dropLast()) + [0],
    ]

    // C-114, Specs/hostile.md row 105
    @Test(arguments: invalid) func `other bytes → invalid, at the first byte that no header has`(_ bytes: [UInt8]) {
        var header = ProxyHeader()
        var step = ProxyHeader.Step.incomplete
        for byte in bytes where step == .incomplete { step = header.receive([byte].rawBytes) }
        #expect(step == .invalid)
    }
}
