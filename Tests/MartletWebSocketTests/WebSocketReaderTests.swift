import MartletTransport
import MartletWire
import Testing

@testable import MartletWebSocket

/// The cases of RFC 6455 §5 and §7 as data. Each stream is also cut at every byte, and in single bytes.
@Suite("The reader of WebSocket frames")
struct WebSocketReaderTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let stream: [UInt8]
        let outcome: ReadOutcome

        init(_ name: String, _ stream: [UInt8], _ outcome: ReadOutcome) {
            (testDescription, self.stream, self.outcome) = (name, stream, outcome)
        }
    }

    private static let hello = Array("Hello".utf8)

    /// A frame of a server.
    private static func frame(_ first: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        let length: [UInt8] =
            switch payload.count {
            case ...125: [UInt8(payload.count)]
            case ...0xFFFF: [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
            default: [127, 0, 0, 0, 0] + (0..<4).map { UInt8(payload.count >> (24 - 8 * $0) & 255) }
            }
        return [first] + length + payload
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) } }

    private static func close(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        frame(0x88, [UInt8(code >> 8), UInt8(code & 255)] + reason)
    }

    private static func data(_ data: [UInt8], _ controls: [WebSocketReader.Event] = []) -> ReadOutcome {
        ReadOutcome(data: data, controls: controls)
    }

    private static func failure(_ error: WebSocketError, after data: [UInt8] = []) -> ReadOutcome {
        ReadOutcome(data: data, error: error)
    }

    private static func closing(_ code: UInt16?) -> ReadOutcome {
        data([], [.close(code.map { WebSocketCloseCode(rawValue: $0) })])
    }

    private static let framing = [
        Case("nothing", [], data([])),
        Case("a message", frame(0x82, hello), data(hello)),
        Case("two messages", frame(0x82, hello) + frame(0x82, hello), data(hello + hello)),
        Case("an empty message", frame(0x82) + frame(0x82, hello), data(hello)),
        Case("125 bytes", frame(0x82, bytes(125)), data(bytes(125))),
        Case("126 bytes", frame(0x82, bytes(126)), data(bytes(126))),
        Case("127 bytes", frame(0x82, bytes(127)), data(bytes(127))),
        Case("an incomplete header", [0x82], data([])),
        Case("an incomplete payload", [0x82, 3, 1, 2], data([1, 2])),
        Case("a frame of 2⁶³ − 1 bytes", [0x82, 127, 0x7F] + bytes(7).map { _ in 255 } + hello, data(hello)),
    ]

    private static let fragmentation = [
        Case("two fragments", frame(0x02, hello) + frame(0x80, hello), data(hello + hello)),
        Case(
            "three fragments, one of them empty", frame(0x02, hello) + frame(0x00) + frame(0x80, hello),
            data(hello + hello)),
        Case("empty fragments", frame(0x02) + frame(0x00) + frame(0x80) + frame(0x82, hello), data(hello)),
        Case(
            "a ping between fragments", frame(0x02, hello) + frame(0x89, [7]) + frame(0x80, hello),
            data(hello + hello, [.ping([7])])),
        Case(
            "a pong between fragments", frame(0x02, hello) + frame(0x8A, [7]) + frame(0x80, hello),
            data(hello + hello)),
        Case("a close frame between fragments", frame(0x02, hello) + frame(0x88), data(hello, [.close(nil)])),
        Case("a continuation of nothing", frame(0x80, hello), failure(.invalidFragment)),
        Case("a fragment that continues nothing", frame(0x00, hello), failure(.invalidFragment)),
        Case(
            "a continuation of a whole message", frame(0x82, hello) + frame(0x80, hello),
            failure(.invalidFragment, after: hello)),
        Case(
            "a message within another", frame(0x02, hello) + frame(0x82, hello),
            failure(.invalidFragment, after: hello)),
        Case(
            "a text within another message", frame(0x02, hello) + frame(0x81, hello),
            failure(.invalidFragment, after: hello)),
    ]

    private static let controls = [
        Case("an empty ping", frame(0x89), data([], [.ping([])])),
        Case("a ping of 125 bytes", frame(0x89, bytes(125)), data([], [.ping(bytes(125))])),
        Case("a ping of 126 bytes", frame(0x89, bytes(126)), failure(.invalidControlFrame)),
        Case("a pong of 126 bytes", frame(0x8A, bytes(126)), failure(.invalidControlFrame)),
        Case("a close frame of 126 bytes", frame(0x88, bytes(126)), failure(.invalidControlFrame)),
        Case("a pong that was not requested", frame(0x8A, hello) + frame(0x82, hello), data(hello)),
        Case("two pings", frame(0x89, [1]) + frame(0x89, [2]), data([], [.ping([1]), .ping([2])])),
        Case("a fragmented ping", frame(0x09, hello), failure(.invalidControlFrame)),
        Case("a fragmented pong", frame(0x0A, hello), failure(.invalidControlFrame)),
        Case("a fragmented close frame", frame(0x08), failure(.invalidControlFrame)),
    ]

    private static let opcodes =
        [3, 4, 5, 6, 7, 0xB, 0xC, 0xD, 0xE, 0xF].map { (opcode: UInt8) in
            Case("opcode \(opcode)", frame(0x80 | opcode, hello), failure(.unknownOpcode))
        } + [
            Case("a text", frame(0x81, hello), failure(.textMessage)),
            Case("a fragment of a text", frame(0x01, hello), failure(.textMessage)),
            Case("RSV1, as permessage-deflate sets it", frame(0xC2, hello), failure(.reservedBits)),
            Case("RSV2", frame(0xA2, hello), failure(.reservedBits)),
            Case("RSV3", frame(0x92, hello), failure(.reservedBits)),
            Case("all reserved bits of a ping", frame(0xF9), failure(.reservedBits)),
        ]

    private static let lengths = [
        Case("5 bytes in 16 bits", [0x82, 126, 0, 5] + hello, failure(.invalidLength)),
        Case("125 bytes in 16 bits", [0x82, 126, 0, 125], failure(.invalidLength)),
        Case("no bytes in 16 bits", [0x82, 126, 0, 0], failure(.invalidLength)),
        Case("5 bytes in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 5], failure(.invalidLength)),
        Case("65,535 bytes in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255], failure(.invalidLength)),
        Case("65,536 bytes in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0] + hello, data(hello)),
        Case("2⁶³ bytes", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], failure(.invalidLength)),
    ]

    private static let closes =
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map {
            Case("code \($0)", close($0), closing($0))
        }
        + [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map {
            Case("code \($0)", close($0), failure(.invalidClose))
        } + [
            Case("a close frame without a code", frame(0x88), closing(nil)),
            Case("a close frame with one byte", frame(0x88, [3]), failure(.invalidClose)),
            Case("a reason", close(1000, hello), closing(1000)),
            Case("a reason of 123 bytes", close(1000, Array("ä".utf8) + bytes(121).map { $0 & 0x7F }), closing(1000)),
            Case("a reason with all lengths of UTF-8", close(1000, Array("aé€😀".utf8)), closing(1000)),
            Case("a truncated character", close(1000, [0xE2, 0x82]), failure(.invalidCloseReason)),
            Case("a surrogate", close(1000, [0xED, 0xA0, 0x80]), failure(.invalidCloseReason)),
            Case("an overlong character", close(1000, [0xC0, 0xAF]), failure(.invalidCloseReason)),
            Case("a character above U+10FFFF", close(1000, [0xF4, 0x90, 0x80, 0x80]), failure(.invalidCloseReason)),
            Case("a continuation byte", close(1000, [0x80]), failure(.invalidCloseReason)),
            Case("bytes behind a close frame", close(1000) + frame(0x82, hello) + [0x82, 0x7D, 0xFF], closing(1000)),
        ]

    static let cases = framing + fragmentation + controls + opcodes + lengths + closes

    // C-120, C-123, Specs/hostile.md row 112
    @Test("the frames of a server -> the outcome of the case, cut at every byte", arguments: cases)
    func withoutMasks(_ test: Case) {
        let stream = test.stream
        #expect(ReadOutcome(reading: stream, ofClient: false) == test.outcome)
        for cut in 0...stream.count {
            #expect(ReadOutcome(reading: stream, ofClient: false, cuts: [cut]) == test.outcome)
        }
        #expect(ReadOutcome(reading: stream, ofClient: false, cuts: Array(0..<stream.count)) == test.outcome)
    }

    /// The stream of a case with masked payloads; nil if its frames are not valid to their end.
    private func masked(_ stream: [UInt8], key: UInt32) -> [UInt8]? {
        var rest = stream[...]
        var result: [UInt8] = []
        while rest.count >= 2 {
            let start = rest.startIndex
            let extended = rest[start + 1] == 126 ? 2 : rest[start + 1] == 127 ? 8 : 0
            guard rest[start + 1] & 0x80 == 0, rest.count >= 2 + extended else { return nil }
            let head = rest.prefix(2 + extended)
            rest = rest.dropFirst(head.count)
            let length = extended == 0 ? UInt64(head.last!) : head.dropFirst(2).reduce(0) { $0 << 8 | UInt64($1) }
            let payload = Array(rest.prefix(Int(min(length, UInt64(rest.count)))))
            rest = rest.dropFirst(payload.count)
            result += [head.first!, head.dropFirst().first! | 0x80] + head.dropFirst(2)
            result += (0..<4).map { UInt8(truncatingIfNeeded: key >> (24 - 8 * $0)) }
            result += payload.enumerated().map { $1 ^ UInt8(truncatingIfNeeded: key >> (24 - 8 * ($0 & 3))) }
        }
        return result + rest
    }

    // C-120, C-123, Specs/hostile.md row 112
    @Test("the same frames of a client with masks -> the same outcome, cut at every byte", arguments: cases)
    func withMasks(_ test: Case) throws {
        for key in [0, 0x37FA_213D, 0xFFFF_FFFF] as [UInt32] {
            let stream = try #require(masked(test.stream, key: key))
            #expect(ReadOutcome(reading: stream, ofClient: true) == test.outcome)
            for cut in 0...stream.count {
                #expect(ReadOutcome(reading: stream, ofClient: true, cuts: [cut]) == test.outcome)
            }
            #expect(ReadOutcome(reading: stream, ofClient: true, cuts: Array(0..<stream.count)) == test.outcome)
        }
    }

    // C-123, Specs/hostile.md row 112
    @Test("a mask of a server, and none of a client -> invalidMask")
    func masks() {
        let example: [UInt8] = [0x82, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(ReadOutcome(reading: example, ofClient: true) == Self.data(Self.hello))
        #expect(ReadOutcome(reading: example, ofClient: false) == Self.failure(.invalidMask))
        let plain = Self.frame(0x82, Self.hello)
        #expect(ReadOutcome(reading: plain, ofClient: true) == Self.failure(.invalidMask))
        #expect(ReadOutcome(reading: Self.frame(0x88), ofClient: true) == Self.failure(.invalidMask))
    }

    @Test("an error of each kind -> the code of RFC 6455 §7.4.1")
    func codes() {
        #expect(WebSocketCloseCode(WebSocketError.textMessage).rawValue == 1003)
        #expect(WebSocketCloseCode(WebSocketError.invalidCloseReason).rawValue == 1007)
        #expect(WebSocketCloseCode(WebSocketError.reservedBits).rawValue == 1002)
    }
}
