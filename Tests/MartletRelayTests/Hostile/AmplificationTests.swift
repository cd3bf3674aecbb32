import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 32.
@Suite("A reply before authentication is at most three times the request")
struct AmplificationTests {
    private static let openings: [[UInt8]] = [
        [0], [0x8D, 0], [UInt8](repeating: 0xFF, count: 11), [UInt8](repeating: 0xFF, count: 12),
        Array(Speaker.header(.ping, bodyByteCount: 0)), Array(Speaker.header(.hello, bodyByteCount: .max)),
    ]

    // W-37
    @Test("is never given to bytes that are no hello", arguments: openings)
    func faults(bytes: [UInt8]) async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        await peer.send(bytes)
        while case .frame(let frame) = try await peer.arrival() {
            #expect(FrameHeader.byteCount + frame.body.count <= 3 * bytes.count)
        }
    }

    // C-15
    @Test("a refusal of many words loses words, not its code")
    func refusal() async throws {
        let hall = VirtualHall()
        hall.refusal = Notice(
            code: .forbidden, reason: String(repeating: "no ", count: 80), redirect: String(repeating: "x", count: 500))
        let peer = hall.connect()
        let hello = Speaker.bytes(.hello, Speaker.hello().encode())
        await peer.send(hello)
        let frame = try await peer.frame()
        #expect(frame.notice?.code == .forbidden)
        #expect(FrameHeader.byteCount + frame.body.count <= 3 * hello.count)
    }
}
