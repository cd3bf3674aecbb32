import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// Sessions that open and close on rooms.
@Suite struct SessionRouterOpeningTests {
    // S-7, R-14, R-49
    @Test func `a close right behind messages is answered when they have been accepted`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        stage.relay.storeDelay = .milliseconds(50)
        for counter in UInt64(1)...5 { alice.text("line \(counter)", counter: counter) }
        alice.say(Close(code: nil, reason: nil), on: .first)
        alice.open(.lobby, on: .second)
        stage.run(for: .seconds(1))
        let types = alice.log.frames.filter { $0.header.session == .first && $0.header.flags.contains(.reliable) }
        // The first message starts an append at once; the other four form the next batch.
        #expect(types.map(\.type) == [.opened, .accepted, .accepted, .close])
        #expect(
            alice.log.all(Accepted.self).flatMap(\.runs) == [
                AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1),
                AcceptedRun(firstCounter: 2, count: 4, firstOffset: 2),
            ])
        #expect(alice.log.all(Opened.self).map(\.members) == [[.alice], [.alice]])
        #expect(stage.relay.engine.statistics.rooms == 1)
        alice.say(Close(code: nil, reason: nil), on: .second)
        stage.run(for: .seconds(1))
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    //
    @Test func `frames without credit beyond 64 KiB before a room is loaded reset their session`() {
        let stage = RelayStage()
        stage.relay.storeDelay = .seconds(5)
        let peer = stage.member("alice", of: .lobby)
        let reason = String(repeating: "x", count: 200)
        let receipt = Receipt.refused(Receipt.Refusal(counter: 1, code: .forbidden, reason: reason))
        for _ in 0..<RelayLink.maxHeldByteCount / (receipt.encode().count + HeldFrames.overheadByteCount) {
            peer.say(receipt, on: .first)
        }
        #expect(peer.log.last(Reset.self) == nil)
        peer.say(receipt, on: .first)
        #expect(peer.log.last(Reset.self)?.code == .serverBusy)
    }

    //
    @Test func `a connection that is lost before the admission → the member is away`() {
        let stage = RelayStage { $0.asksRoomPolicy = true }
        let alice = stage.member("alice", of: .lobby)
        stage.relay.policyDelay = .seconds(1)
        let bob = stage.member("bob", of: .lobby)
        bob.cut()
        stage.run(for: .seconds(2))
        let presences = alice.log.all(Transient.self).filter { $0.sender == .bob }.map(\.content)
        #expect(presences == [.presence(.away)])
    }

    // C-23, R-37
    @Test func `a resume without presence before the admission → the member is not sent presence`() throws {
        let stage = RelayStage { $0.asksRoomPolicy = true }
        stage.relay.policyDelay = .seconds(1)
        let bob = stage.member("bob", of: .lobby)
        let welcome = try #require(bob.log.last(Welcome.self))
        bob.cut()
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 0),
        ]
        let point = ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)
        again.greet("bob", features: Features.supported.subtracting(.presence), resume: point)
        stage.run(for: .seconds(2))
        #expect(again.log.last(Opened.self)?.members == [.bob])
        _ = stage.member("carol", of: .lobby)
        stage.run(for: .seconds(2))
        #expect(again.log.all(Transient.self).isEmpty)
    }
}
