import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 18.
@Suite("Sessions opened and closed beyond the rate end the connection")
struct SessionChurnTests {
    @Test("burst of more than 256 opens closes as churnLimit", arguments: RelayBackend.allCases)
    func burst(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            try await peer.hello()
            await peer.write { writer in
                (0..<400).flatMap { index in
                    let id = SessionID(rawValue: UInt16(2 * index + 1))
                    return writer.frame(Open(room: RoomName("room \(index)")!, cursor: 0), on: id)
                        + writer.frame(Reset(session: id, code: .cancelled))
                }
            }
            #expect(try await peer.finalNotice()?.code == .churnLimit)
        }
    }

    @Test("33 opens a second are accepted and leave no state")
    func steady() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        for index in 0..<1000 {
            let id = SessionID(rawValue: UInt16(2 * index + 1))
            try await peer.open("room \(index)", on: id)
            await peer.send(Reset(session: id, code: .cancelled))
            fixture.run(for: .milliseconds(31))
        }
        #expect(!peer.isClosed)
        #expect(fixture.engine.statistics.rooms == 0)
        #expect(fixture.link(of: peer, { $0.sessionCount }) == 0)
    }

    @Test("frames for unopened sessions count as churn", arguments: RelayBackend.allCases)
    func unknownSessions(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            try await peer.hello()
            await peer.write { writer in
                (0..<400).flatMap { writer.text("?", counter: $0 + 1, on: SessionID(rawValue: UInt16(2 * $0 + 1))) }
            }
            #expect(try await peer.finalNotice()?.code == .churnLimit)
        }
    }
}
