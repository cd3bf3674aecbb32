import MartletProtocol
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 24.
@Suite("A revoked credential ends the connections of its account")
struct RevokedCredentialTests {
    private let alice = AccountName("alice")!

    // C-28
    @Test("all connections of the account end within a second, with what they say unheard; others stay")
    func connected() async throws {
        let hall = VirtualHall()
        let phone = hall.connect()
        let point = try await phone.hello().resumePoint([:])
        try await phone.open()
        let tablet = hall.connect()
        try await tablet.hello(Speaker.hello(device: 2))
        let bob = hall.connect()
        try await bob.hello(Speaker.hello("bob", device: 3))
        try await bob.open()

        let began = hall.now
        hall.act { [alice] in $0.revoke(alice, now: $1) }
        await phone.say { $0.text("not any more", counter: 1, on: .first) }
        for peer in [phone, tablet] { #expect(try await peer.farewell()?.code == .revoked) }
        #expect(hall.now - began <= .seconds(1))
        #expect(hall.engine.statistics.messagesStored == 0)
        #expect(hall.engine.statistics.links == 1)
        #expect(try await bob.post("still here", counter: 1) == 1)

        // The link is gone with the credential, and its token is worth nothing. What is proved in the instant of the
        // revocation is revoked as well.
        hall.run(for: .milliseconds(1))
        let again = hall.connect()
        await again.send(Speaker.hello(resume: point))
        #expect(try await again.expect(Reject.self).notice.code == .resumeRejected)
    }

    @Test("one that does not read its goodbye is gone within a second all the same")
    func deaf() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        hall.stall(peer)
        let began = hall.now
        hall.act { [alice] in $0.revoke(alice, now: $1) }
        #expect(hall.run(for: .seconds(5)) { peer.isOver })
        #expect(hall.now - began <= .seconds(1))
    }

    @Test("on a real connection, and one that waits to be resumed is not resumed")
    func socket() async throws {
        try await withRelay { [alice] relay, port in
            let waiting = try await WirePeer.connect(to: port)
            let point = try await waiting.hello(Speaker.hello(device: 2)).resumePoint([:])
            await waiting.cut()
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            await relay.revoke(alice)
            #expect(try await peer.farewell()?.code == .revoked)
            #expect(await relay.statistics.links == 0)
            let again = try await WirePeer.connect(to: port)
            await again.send(Speaker.hello(device: 2, resume: point))
            #expect(try await again.expect(Reject.self).notice.code == .resumeRejected)
        }
    }
}
