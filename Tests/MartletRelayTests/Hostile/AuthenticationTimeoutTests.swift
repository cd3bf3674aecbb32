import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 6.
@Suite("A connection that is not authenticated ends after 10 s")
struct AuthenticationTimeoutTests {
    @Test("peer without an authenticator's answer closes after 10 s as authTimeout")
    func hanging() async throws {
        let fixture = EngineFixture()
        fixture.authenticates = false
        let peer = fixture.connect()
        await peer.send(FrameWriter.hello())
        #expect(try await peer.finalNotice()?.code == .authTimeout)
        #expect(peer.age == .seconds(10))
    }

    // C-9
    @Test("early frames beyond 16 KiB close as protocolViolation, and none is answered")
    func ahead() async throws {
        let fixture = EngineFixture()
        fixture.authenticates = false
        let peer = fixture.connect()
        await peer.send(FrameWriter.hello())
        let ping = FrameWriter.bytes(.ping, Ping(nonce: 1).encode())
        for _ in 0..<(16 * 1024 / ping.count) { await peer.send(ping) }
        #expect(fixture.heldByteCount(of: peer) <= 16 * 1024)
        #expect(!peer.isClosed)
        await peer.send(ping)
        #expect(try await peer.finalNotice()?.code == .protocolViolation)
    }

    // C-10
    @Test("rejected resumes do not extend the deadline of 10 s", arguments: [1, 4])
    func resumes(attempts: Int) async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
        for _ in 0..<attempts {
            await peer.send(FrameWriter.hello(resume: forged))
            let reject: Reject = try await peer.expect()
            #expect(reject.notice.code == .resumeRejected)
            fixture.run(for: .seconds(1))
        }
        #expect(try await peer.finalNotice()?.code == .authTimeout)
        #expect(peer.age == .seconds(10))
    }
}
