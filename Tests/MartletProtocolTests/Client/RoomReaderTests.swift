import MartletWire
import Testing

@testable import MartletProtocol
@testable import MartletTestKit

/// An application that does not take its messages, and a relay that sends more than a window of them.
@Suite struct HeldMessagesTests {
    @Test func `what was taken is at most what was given`() {
        var held = HeldMessages(maxByteCount: 100)
        held.give(60)
        #expect(!held.isFull && !held.isHalfEmpty)
        held.give(50)
        #expect(held.isFull)
        #expect(held.take(70) == 70)
        #expect(held.isHalfEmpty)
        #expect(held.take(70) == 40)
        #expect(held.byteCount == 0)
    }

    // R-46, Specs/hostile.md row 35
    @Test func `row 35, sessions that are reset again and again bring no more than a window and a message`() {
        let stage = ClientStage()
        stage.answersPings = true
        let room = stage.goOnline(.lobby)
        var session = SessionID.first
        var offset: UInt64 = 0
        for _ in 0..<40 {
            for _ in 0..<16 {
                offset += 1
                stage.message(String(repeating: "x", count: 15_000), offset: offset, on: session)
            }
            stage.say(Reset(session: session, code: .storeUnavailable, creditUsed: nil))
            stage.run(for: .seconds(3))
            session = SessionID(rawValue: session.rawValue + 2)
            stage.opened(session, head: offset)
            stage.acknowledge(1, on: session)
        }
        var held = 0
        for case .message(_, let credit) in stage.events(in: room) { held += credit }
        #expect(held < 256 * 1024 + 16_384)
        #expect(stage.farewell == nil)
    }

    //
    @Test func `who takes late gets all of it once, over relays that died meanwhile`() throws {
        let pair = try Pair()
        pair.settle()
        pair.alice.takesMessages = false
        let texts = (0..<60).map { "\($0) " + String(repeating: "x", count: 15_000) }
        for (number, text) in texts.enumerated() {
            try pair.world.send(text, from: pair.bob, in: pair.his)
            pair.world.run(for: .seconds(2))
            if number % 12 == 11 {
                pair.world.restartRelay()
                pair.world.run(for: .seconds(60))
            }
        }
        let held = pair.alice.texts(in: pair.hers).reduce(0) { $0 + $1.utf8.count }
        #expect(held < 256 * 1024 + 16_384)
        pair.alice.takesMessages = true
        for _ in 0..<20 {
            pair.alice.takeAll(now: pair.world.now)
            pair.world.settle(pair.alice)
            pair.world.run(for: .seconds(10))
        }
        #expect(pair.alice.texts(in: pair.hers) == texts)
    }

    //
    @Test func `a room that is opened anew 20 times with 150 KB not taken each time goes on to take messages`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        var session = SessionID.first
        for offset in 0..<20 as Range<UInt64> {
            for number in 1...10 as ClosedRange<UInt64> {
                stage.message(String(repeating: "x", count: 15_000), offset: 10 * offset + number, on: session)
            }
            stage.act { $0.reopen(room, RoomOptions(cursor: 10 * (offset + 1)), now: $1) }
            session = SessionID(rawValue: session.rawValue + 2)
            stage.opened(session, head: 10 * (offset + 1))
            stage.acknowledge(1, on: session)
        }
        #expect(stage.events(in: room).count { if case .message = $0 { true } else { false } } == 200)
        #expect(stage.engine.held.byteCount == 0)
    }
}
