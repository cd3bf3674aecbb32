import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A device whose counters the relay knows for other messages.
@Suite struct ClientRoomsDeviceTests {
    private func send(
        _ counters: ClosedRange<UInt64>, in room: RoomID, on stage: ClientStage, timeToLive: Duration? = nil,
        byteCount: Int? = nil
    ) throws(ClientError) {
        for counter in counters {
            let text = byteCount.map { String(repeating: "x", count: $0) } ?? "line \(counter)"
            try stage.engine.send(
                counter: counter, content: MessageContent(text: text), timeToLive: timeToLive, in: room,
                now: stage.now)
        }
        stage.act { _, _ in }
    }

    private func sent(_ stage: ClientStage) -> [UInt64] {
        stage.log.all(Message.self).map(\.counter)
    }

    private func replacements(_ stage: ClientStage) -> Int { stage.count(.replaceDevice) }

    // R-152, Specs/hostile.md row 94
    @Test func `a reused counter → another device after the answers, and the messages on another link, in order`()
        throws
    {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 3)
        try send(4...7, in: room, on: stage)
        stage.say(Receipt.refused(Receipt.Refusal(counter: 5, code: .counterReused)), on: .first)
        stage.say(Receipt.refused(Receipt.Refusal(counter: 6, code: .counterReused)), on: .first)
        stage.say(Receipt.refused(Receipt.Refusal(counter: 7, code: .counterReused)), on: .first)
        #expect(replacements(stage) == 0)
        // Nothing new is published meanwhile.
        try send(8...8, in: room, on: stage)
        #expect(sent(stage) == [4, 5, 6, 7])
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 4, count: 1, firstOffset: 4)]), on: .first)
        #expect(replacements(stage) == 1)
        stage.act { $0.replaceDevice(by: DeviceID(rawValue: 9), now: $1) }
        #expect(stage.farewell == ErrorCode.none)
        stage.run(for: .seconds(5))
        stage.accept()
        let hello = try #require(stage.log.last(Hello.self))
        #expect(hello.device == DeviceID(rawValue: 9) && hello.resume == nil)
        #expect(sent(stage) == [5, 6, 7, 8])
        #expect(!stage.events(in: room).contains { if case .failed = $0 { true } else { false } })
    }

    //
    @Test func `a new message accepted up to the head → another device`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 3)
        try send(4...4, in: room, on: stage)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 4, count: 1, firstOffset: 2)]), on: .first)
        #expect(
            replacements(stage) == 1
                && stage.events(in: room).last != .accepted(AcceptedRun(firstCounter: 4, count: 1, firstOffset: 2)))
    }

    //
    @Test func `a message without an answer beside a reused counter → another device after 10 s`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        let room = stage.goOnline(.lobby, head: 3)
        try send(4...5, in: room, on: stage)
        stage.say(Receipt.refused(Receipt.Refusal(counter: 5, code: .counterReused)), on: .first)
        stage.acknowledge(3)
        stage.run(for: ClientRooms.replacementTimeout - .milliseconds(1))
        #expect(replacements(stage) == 0)
        stage.run(for: .milliseconds(1))
        #expect(replacements(stage) == 1)
    }
}
