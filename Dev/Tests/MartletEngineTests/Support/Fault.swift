import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Bytes that a peer on an established link must not send, and the code of their fault.
struct Fault: CustomTestStringConvertible, Sendable {
    var row: Int
    var name: String
    var code: ErrorCode
    var bytes: @Sendable (inout FrameMaker) -> [UInt8]

    var testDescription: String { "row \(row) \(name)" }

    /// A frame with a changed header and a valid checksum.
    private static func header(
        _ type: FrameType, _ body: [UInt8] = [], on session: SessionID = .control,
        _ change: (inout FrameHeader) -> Void
    ) -> [UInt8] {
        var header = FrameHeader(type: type, session: session)
        change(&header)
        return header.frame(body: body.rawBytes)
    }

    private static func data(_ maker: inout FrameMaker, _ body: [UInt8], _ compression: Compression = .none) -> [UInt8]
    {
        maker.frame(.data, body, on: .first, compression: compression)
    }

    private static func tlv(_ tag: UInt16, _ length: UInt32, _ value: [UInt8] = []) -> [UInt8] {
        [UInt8(tag >> 8), UInt8(tag & 0xFF)] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
            + value
    }

    /// Nested containers.
    private static func nested(_ depth: Int) -> [UInt8] {
        var heads: [[UInt8]] = []
        var length = 0
        for _ in 0..<depth {
            heads.append(tlv(Tag.content.rawValue, UInt32(length)))
            length += 6
        }
        return heads.reversed().flatMap(\.self)
    }

    private static func compressed(zeros byteCount: Int) -> [UInt8] {
        let deflater = Deflater()
        let zeros = [UInt8](repeating: 0, count: byteCount)
        return deflater.compress(zeros.rawBytes) ?? []
    }

    static let all: [Fault] = [
        Fault(row: 1, name: "wrong magic", code: .badMagic) { _ in [UInt8]("GET / HTTP/1.1\r\n".utf8) },
        Fault(row: 1, name: "wrong magic in the first byte", code: .badMagic) { _ in [0x8E] },
        Fault(row: 2, name: "another major version", code: .unsupportedVersion) { _ in [0x8D, 0x4D, 0x52, 0x54, 9] },
        Fault(row: 3, name: "a length beyond the limit", code: .frameTooLarge) { _ in
            Array(header(.data, on: .first) { $0.flags = .reliable }.prefix(20)) + [0, 1, 0, 1, 0, 0, 0, 0]
        },
        Fault(row: 3, name: "a length that overflows with the header added", code: .frameTooLarge) { _ in
            Array(header(.data, on: .first) { $0.flags = .reliable }.prefix(20)) + [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]
        },
        Fault(row: 7, name: "a flipped bit", code: .badChecksum) { maker in
            var bytes = maker.frame(Ping(nonce: 1))
            bytes[bytes.count - 1] ^= 1
            return bytes
        },
        Fault(row: 9, name: "reserved bits", code: .reservedBits) { _ in
            header(.ping, Ping(nonce: 1).encode()) { $0.flags = FrameFlags(rawValue: 0x40) }
        },
        Fault(row: 10, name: "an unknown critical frame", code: .unknownCritical) { _ in
            header(FrameType(rawValue: 0x9ABC)) { _ in }
        },
        Fault(row: 10, name: "an unknown critical tag", code: .unknownCritical) { maker in
            maker.frame(.ping, Ping(nonce: 1).encode() + tlv(0xFFF0, 0))
        },
        Fault(row: 10, name: "unknown frames beyond the rate", code: .unknownFlood) { _ in
            (0..<33).flatMap { _ in header(FrameType(rawValue: 0x1ABC)) { _ in } }
        },
        Fault(row: 11, name: "a field longer than its frame", code: .malformedTLV) { maker in
            data(&maker, tlv(Tag.content.rawValue, 1000, [1, 2, 3]))
        },
        Fault(row: 11, name: "a field whose length overflows", code: .malformedTLV) { maker in
            data(&maker, tlv(Tag.content.rawValue, .max))
        },
        Fault(row: 12, name: "containers 2,000 deep", code: .tlvTooDeep) { maker in data(&maker, nested(2000)) },
        Fault(row: 13, name: "10,000 empty fields", code: .tooManyTLVs) { maker in
            data(&maker, (0..<10_000).flatMap { _ in tlv(0x0123, 0) })
        },
        Fault(row: 15, name: "a decompression bomb", code: .inflateLimit) { maker in
            data(&maker, compressed(zeros: 1 << 20), .zlib)
        },
        Fault(row: 15, name: "a truncated stream", code: .inflateFailed) { maker in
            data(&maker, compressed(zeros: 4096).dropLast(4), .zlib)
        },
        Fault(row: 15, name: "bytes that are no deflate stream", code: .inflateFailed) { maker in
            data(&maker, [1, 2, 3, 4, 5, 6, 7, 8], .zlib)
        },
        Fault(row: 17, name: "pings beyond the rate", code: .controlFlood) { maker in
            (0..<101).flatMap { maker.frame(Ping(nonce: $0)) }
        },
        Fault(row: 19, name: "an acknowledgement of unsent frames", code: .ackUnsent) { maker in
            let part = SessionAck(session: .first, cumulative: 1_000_000, creditLimit: 0)
            return maker.frame(Ack(echo: nil, linkCredit: 0, sessions: [part]))
        },
        Fault(row: 19, name: "a range of unsent frames", code: .ackUnsent) { maker in
            let part = SessionAck(
                session: .first, cumulative: 0, creditLimit: 0, ranges: [UInt64.max - 1...UInt64.max])
            return maker.frame(Ack(echo: nil, linkCredit: 0, sessions: [part]))
        },
        Fault(row: 21, name: "a sequence beyond the window", code: .outOfWindow) { maker in
            maker.frame(.receipt, [], on: .first, sequence: 100_000)
        },
        Fault(row: 4, name: "a second hello", code: .protocolViolation) { maker in
            maker.frame(RawPeer.hello("again"))
        },
        Fault(row: 4, name: "a reliable ping", code: .protocolViolation) { _ in
            header(.ping, Ping(nonce: 1).encode()) {
                $0.flags = .reliable
                $0.sequence = 1
            }
        },
        Fault(row: 20, name: "bytes beyond the credit", code: .creditExceeded) { maker in
            let piece = [UInt8](repeating: 0, count: 16_384)
            return (0..<200).flatMap { _ in maker.frame(.data, piece, on: .first, flags: .moreFragments) }
        },
    ]
}
