import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

@Suite struct TransmitQueueTests {
    private func wait(on stage: RelayStage) -> Instant? {
        let engine = stage.relay.loops.loops[0]
        let timeout = engine.engine.configuration.link.slowConsumerTimeout
        return engine.engine.server.transmits.deadline(in: engine.engine.server.connections, timeout: timeout)
    }

    /// Reads at most one frame of the relay's output.
    private func readOne(_ peer: RawPeer, on stage: RelayStage) {
        let room = FrameHeader.byteCount + 64
        _ = [UInt8](capacity: room) { out in
            stage.relay.engine.transmit(on: peer.key, into: &out, now: stage.now)
        }
        stage.settle()
    }

    // C-61
    @Test func `a peer that reads at once has no deadline`() {
        let stage = RelayStage()
        let peer = stage.member("alice")
        #expect(wait(on: stage) == nil)
        for nonce in UInt64(1)...3 {
            peer.say(Ping(nonce: nonce))
            #expect(peer.log.last(Pong.self)?.nonce == nonce && wait(on: stage) == nil)
        }
    }

    // C-61
    @Test func `each read restarts the timeout, and without one the connection ends`() {
        let stage = RelayStage()
        let peer = stage.member("alice")
        peer.isReading = false
        for nonce in UInt64(1)...3 { peer.say(Ping(nonce: nonce)) }
        let began = stage.now
        #expect(wait(on: stage) == began + .seconds(10))
        stage.run(for: .seconds(6))
        readOne(peer, on: stage)
        #expect(wait(on: stage) == began + .seconds(16))
        stage.run(for: .seconds(9))
        #expect(peer.closedAt == nil)
        stage.run(for: .seconds(2))
        #expect(peer.closedAt == began + .seconds(16))
    }

    // C-61
    @Test func `a wait that begins at the instant at which another ended has a deadline`() {
        let stage = RelayStage()
        let peer = stage.member("alice")
        // Both at the same instant: one pong is read, the next is not.
        peer.say(Ping(nonce: 1))
        peer.isReading = false
        peer.say(Ping(nonce: 2))
        #expect(wait(on: stage) == stage.now + .seconds(10))
        stage.run(for: .seconds(11))
        #expect(peer.closedAt != nil)
    }

    @Test func `ended waits of others behind a stalled one do not accumulate`() {
        let stage = RelayStage()
        let stuck = stage.member("mallory")
        let others = ["alice", "bob"].map { stage.member($0) }
        stuck.isReading = false
        stuck.say(Ping(nonce: 1))
        let began = stage.now
        for nonce in UInt64(1)...80 {
            stage.run(for: .milliseconds(100))
            for other in others { other.say(Ping(nonce: nonce)) }
            #expect(stage.relay.engine.server.transmits.waitCount <= 22)
        }
        others[0].isReading = false
        others[0].say(Ping(nonce: 81))
        let later = stage.now
        stage.run(for: .seconds(30))
        #expect(stuck.closedAt == began + .seconds(10) && others[0].closedAt == later + .seconds(10))
        #expect(others[1].closedAt == nil && wait(on: stage) == nil)
    }

    /// A peer whose resume was refused, and which neither reads nor sends another hello.
    private func refused(on stage: RelayStage) throws -> RawPeer {
        let peer = try #require(stage.connect())
        peer.isReading = false
        peer.greet(
            "mallory", resume: ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: []))
        return peer
    }

    // C-60, C-61
    @Test func `an unauthenticated peer that does not read has the timeout of the handshake`() throws {
        let stage = RelayStage { $0.link.authTimeout = .seconds(25) }
        let peer = try refused(on: stage)
        let began = stage.now
        stage.run(for: .seconds(24))
        #expect(peer.closedAt == nil)
        stage.run(for: .seconds(2))
        #expect(peer.closedAt.map { $0 - began } == .seconds(25))
    }

    // C-61
    @Test func `a wait that began during the handshake continues after it`() throws {
        let stage = RelayStage { $0.link.authTimeout = .seconds(25) }
        let peer = try refused(on: stage)
        let began = stage.now
        stage.run(for: .seconds(12))
        #expect(wait(on: stage) == began + .seconds(20))
        peer.greet("mallory")
        #expect(stage.relay.engine.statistics.links == 1)
        stage.run(for: .seconds(20))
        #expect(peer.closedAt.map { $0 - began } == .seconds(20))
    }
}
