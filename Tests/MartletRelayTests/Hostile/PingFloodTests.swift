import MartletWire
import Testing

@testable import MartletLink

/// Specs/hostile.md row 17.
@Suite("A flood of pings ends the connection")
struct PingFloodTests {
    @Test("more than 100 pings in 10 s close as controlFlood", arguments: RelayBackend.allCases)
    func flood(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { writer in (0..<1000).flatMap { writer.frame(Ping(nonce: $0)) } }
            #expect(try await peer.finalNotice()?.code == .controlFlood)
        }
    }

    @Test("ten pings a second are all answered")
    func steady() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        for nonce in 0..<1000 as Range<UInt64> {
            await peer.send(Ping(nonce: nonce))
            let pong: Pong = try await peer.next()
            #expect(pong.nonce == nonce)
            fixture.run(for: .milliseconds(100))
        }
    }

    @Test("peer that does not read has at most four queued pongs")
    func unread() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        fixture.stall(peer)
        for nonce in 0..<50 as Range<UInt64> { await peer.send(Ping(nonce: nonce)) }
        #expect(fixture.link(of: peer, { $0.connection.control.count }) == Link.maxQueuedPongs)
    }
}
