import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 6.
@Suite("A connection that is not authenticated ends after 10 s")
struct AuthenticationTimeoutTests {
    @Test("has 10 s, whatever the authenticator does")
    func hanging() async throws {
        let hall = VirtualHall()
        hall.authenticates = false
        let peer = hall.connect()
        await peer.send(Speaker.hello())
        #expect(try await peer.farewell()?.code == .authTimeout)
        #expect(peer.age == .seconds(10))
    }

    // C-9
    @Test("may send 16 KiB ahead and not a byte more, and is answered nothing")
    func ahead() async throws {
        let hall = VirtualHall()
        hall.authenticates = false
        let peer = hall.connect()
        await peer.send(Speaker.hello())
        let ping = Speaker.bytes(.ping, Ping(nonce: 1).encode())
        for _ in 0..<(16 * 1024 / ping.count) { await peer.send(ping) }
        #expect(hall.heldByteCount(of: peer) <= 16 * 1024)
        #expect(!peer.isOver)
        await peer.send(ping)
        #expect(try await peer.farewell()?.code == .protocolViolation)
    }

    // C-10
    @Test("does not live longer for resumes in vain", arguments: [1, 4])
    func resumes(tries: Int) async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
        for _ in 0..<tries {
            await peer.send(Speaker.hello(resume: forged))
            let reject: Reject = try await peer.expect()
            #expect(reject.notice.code == .resumeRejected)
            hall.run(for: .seconds(1))
        }
        #expect(try await peer.farewell()?.code == .authTimeout)
        #expect(peer.age == .seconds(10))
    }
}
