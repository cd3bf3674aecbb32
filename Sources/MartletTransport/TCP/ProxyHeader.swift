import MartletWire

/// Reads the header of the PROXY protocol, version 1 or 2, with which a proxy states the address of its client
/// (haproxy's proxy-protocol.txt; C-114).
///
/// | state | owns | ends |
/// |---|---|---|
/// | reading | the bytes of the header so far | the last byte, or one that no header has there |
package struct ProxyHeader: Sendable {
    /// The maximum number of bytes of a header of version 2.
    package static let maxByteCount = 2_048
    /// The maximum number of bytes of a header of version 1.
    private static let maxTextByteCount = 107
    private static let text = Array("PROXY ".utf8)
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
    /// The signature, the version and the command, the family, and the number of bytes that follow.
    private static let fixedByteCount = 16

    /// The result of received bytes.
    package enum Step: Equatable, Sendable {
        /// All bytes belong to the header, which is not complete.
        case incomplete
        /// The header is complete after this number of the received bytes. Without an address the connection has the
        /// one of the proxy.
        case complete(SocketAddress?, byteCount: Int)
        /// The bytes are not those of a header.
        case invalid
    }

    private var bytes: [UInt8] = []

    package init() {}

    /// Takes received bytes, up to the end of the header.
    package mutating func receive(_ input: RawSpan) -> Step {
        for index in 0..<input.byteCount {
            bytes.append(input.loadUInt8(at: index))
            if bytes.starts(with: Self.text.prefix(bytes.count)) {
                guard bytes.count <= Self.maxTextByteCount else { return .invalid }
                guard bytes.last == UInt8(ascii: "\n") else { continue }
                guard let address = Self.parse(text: bytes) else { return .invalid }
                return .complete(address.value, byteCount: index + 1)
            }
            guard bytes.starts(with: Self.signature.prefix(bytes.count)) else { return .invalid }
            guard bytes.count >= Self.fixedByteCount else { continue }
            let byteCount = Self.fixedByteCount + Int(bytes[14]) << 8 + Int(bytes[15])
            // Version 2, with the command LOCAL or PROXY.
            guard bytes[12] & 0xFE == 0x20, byteCount <= Self.maxByteCount else { return .invalid }
            guard bytes.count == byteCount else { continue }
            guard let address = Self.parse(binary: bytes) else { return .invalid }
            return .complete(address.value, byteCount: index + 1)
        }
        return .incomplete
    }

    /// A stated address; nil if the proxy states none.
    private struct Stated {
        var value: SocketAddress?
    }

    /// Parses a whole line of version 1.
    private static func parse(text bytes: [UInt8]) -> Stated? {
        guard bytes.suffix(2) == [13, 10], let line = String(validating: bytes.dropLast(2), as: UTF8.self) else {
            return nil
        }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count > 1, words[1] != "UNKNOWN" else { return words.count > 1 ? Stated() : nil }
        guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6",
            let source = address(words[2], words[4], isIPv6: words[1] == "TCP6"),
            address(words[3], words[5], isIPv6: words[1] == "TCP6") != nil
        else { return nil }
        return Stated(value: source)
    }

    private static func address(_ ip: Substring, _ port: Substring, isIPv6: Bool) -> SocketAddress? {
        guard !ip.utf8.contains(UInt8(ascii: "%")), let ip = IPAddress(String(ip)), ip.isIPv6 == isIPv6,
            let port = decimalPort(port)
        else { return nil }
        return SocketAddress(ip.unmapped, port: port)
    }

    /// Parses a whole header of version 2. Types that follow the addresses are skipped.
    private static func parse(binary bytes: [UInt8]) -> Stated? {
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            bytes[(fixedByteCount + offset)...].prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let byteCount = bytes.count - fixedByteCount
        switch (bytes[12] & 1, bytes[13]) {
        case (1, 0x11):
            guard byteCount >= 12 else { return nil }
            let ip = IPAddress(v4: UInt32(truncatingIfNeeded: number(0, 4)))
            return Stated(value: SocketAddress(ip, port: UInt16(truncatingIfNeeded: number(8, 2))))
        case (1, 0x21):
            guard byteCount >= 36 else { return nil }
            let ip = IPAddress(v6High: number(0, 8), low: number(8, 8)).unmapped
            return Stated(value: SocketAddress(ip, port: UInt16(truncatingIfNeeded: number(32, 2))))
        // A check by the proxy itself, or a client without an address of TCP.
        default: return Stated()
        }
    }
}

extension IPAddress {
    /// The IPv4 address in an IPv6 address that contains one (RFC 4291 §2.5.5.2), otherwise this address.
    package var unmapped: IPAddress {
        isIPv6 && high == 0 && low >> 32 == 0xFFFF ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : self
    }
}
