import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 32.
@Suite("A reply before authentication is at most three times the request")
struct AmplificationTests {
    private static let openings: [[UInt8]] = [
        [0], [0x8D, 0], [UInt8](repeating: 0xFF, count: 11), [UInt8](repeating: 0xFF, count: 12),
        Array(FrameWriter.header(.ping, bodyByteCount: 0)), Array(FrameWriter.header(.hello, bodyByteCount: .max)),
    ]

    // W-37
    @Test("reply to bytes other than a hello is at most three times as long", arguments: openings)
    func faults(bytes: [UInt8]) async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        await peer.send(bytes)
        while case .frame(let frame) = try await peer.arrival() {
            #expect(FrameHeader.byteCount + frame.body.count <= 3 * bytes.count)
        }
    }

    // C-15
    @Test("long rejection is truncated and keeps its code")
    func refusal() async throws {
        let fixture = EngineFixture()
        fixture.refusal = Notice(
            code: .forbidden, reason: String(repeating: "no ", count: 80), redirect: String(repeating: "x", count: 500))
        let peer = fixture.connect()
        let hello = FrameWriter.bytes(.hello, FrameWriter.hello().encode())
        await peer.send(hello)
        let frame = try await peer.frame()
        #expect(frame.notice?.code == .forbidden)
        #expect(FrameHeader.byteCount + frame.body.count <= 3 * hello.count)
    }
}
