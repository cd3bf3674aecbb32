import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 24.
@Suite("A revoked credential ends the connections of its account")
struct RevokedCredentialTests {
    private let alice = AccountName("alice")

    // C-28
    @Test("revoked account's connections end within 1 s, their input is ignored, others stay")
    func connected() async throws {
        let fixture = EngineFixture()
        let phone = fixture.connect()
        let point = try await phone.hello().resumePoint([:])
        try await phone.open()
        let tablet = fixture.connect()
        try await tablet.hello(FrameWriter.hello(device: 2))
        let bob = fixture.connect()
        try await bob.hello(FrameWriter.hello("bob", device: 3))
        try await bob.open()

        let start = fixture.now
        fixture.act { [alice] in $0.revoke(alice, now: $1) }
        await phone.write { $0.text("not any more", counter: 1, on: .first) }
        for peer in [phone, tablet] { #expect(try await peer.finalNotice()?.code == .revoked) }
        #expect(fixture.now - start <= .seconds(1))
        #expect(fixture.engine.statistics.messagesStored == 0)
        #expect(fixture.engine.statistics.links == 1)
        #expect(try await bob.publish("still here", counter: 1) == 1)

        // The link and its token end with the credential. A credential presented at the time of the revocation is
        // revoked too.
        fixture.run(for: .milliseconds(1))
        let again = fixture.connect()
        await again.send(FrameWriter.hello(resume: point))
        #expect(try await again.expect(Reject.self).notice.code == .resumeRejected)
    }

    @Test("revoked connection that does not read ends within 1 s")
    func deaf() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        fixture.stall(peer)
        let start = fixture.now
        fixture.act { [alice] in $0.revoke(alice, now: $1) }
        #expect(fixture.run(for: .seconds(5)) { peer.isClosed })
        #expect(fixture.now - start <= .seconds(1))
    }

    // C-28
    @Test("revoked account's sockets close, and its suspended link does not resume", arguments: [1, 3])
    func socket(loopCount: Int) async throws {
        try await withRelay(loopCount: loopCount) { [alice] relay, port in
            let waiting = try await WirePeer.connect(to: port)
            let point = try await waiting.hello(FrameWriter.hello(device: 2)).resumePoint([:])
            await waiting.cut()
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            await relay.revoke(alice)
            #expect(try await peer.finalNotice()?.code == .revoked)
            #expect(await relay.statistics.links == 0)
            let again = try await WirePeer.connect(to: port)
            await again.send(FrameWriter.hello(device: 2, resume: point))
            #expect(try await again.expect(Reject.self).notice.code == .resumeRejected)
        }
    }
}
