import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Rooms of a client engine: opening and closing, queued messages and their outcomes, receipts.
@Suite struct ClientEngineRoomsTests {
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

    // MARK: Opening and closing

    @Test func `a room and its queued messages → open and data directly behind the first hello`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...3, in: room, on: stage)
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        #expect(stage.log.frames.map(\.type) == [.hello, .open, .data, .data, .data])
        #expect(stage.events(in: room).isEmpty)
        stage.welcome()
        #expect(stage.events(in: room) == [.sent(counters: 1...3)])
        stage.opened(.first, head: 9)
        #expect(stage.events(in: room).last == .opened(head: 9, first: 1, members: [.alice]))
    }

    // W-55
    @Test func `open contains the kind, cursor, tail and echo of the options`() throws {
        let stage = ClientStage()
        stage.goOnline()
        _ = try stage.act { engine, now in
            try engine.open(.lobby, RoomOptions(kind: .file, cursor: 7, tail: 3, includesOwnMessages: true), now: now)
        }
        let open = Open(room: .lobby, kind: .file, cursor: 7, tail: 3, noLocal: false)
        #expect(stage.log.last(Open.self) == open)
    }

    // W-62
    @Test func `a reopened room → open with the new options, and unaccepted messages again`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...3, in: room, on: stage)
        stage.forgetOutputs()
        stage.act { engine, now in
            engine.reopen(room, RoomOptions(kind: .file, cursor: 7, tail: 3, includesOwnMessages: true), now: now)
        }
        stage.say(Close(), on: .first)
        #expect(stage.log.last(Open.self) == Open(room: .lobby, kind: .file, cursor: 7, tail: 3, noLocal: false))
        #expect(sent(stage) == [1, 2, 3, 1, 2, 3])
        stage.message("of the session before", offset: 1)
        #expect(stage.events(in: room).isEmpty)
    }

    //
    @Test func `a second open of a room → alreadyOpen, a room beyond the bound → tooManyRooms`() throws {
        let stage = ClientStage { $0.maxRooms = 2 }
        let first = try stage.act { engine, now in try engine.open(.named("a"), now: now) }
        #expect(throws: ClientError.alreadyOpen) {
            try stage.act { engine, now in _ = try engine.open(.named("a"), now: now) }
        }
        _ = try stage.act { engine, now in try engine.open(.named("b"), now: now) }
        #expect(throws: ClientError.tooManyRooms) {
            try stage.act { engine, now in _ = try engine.open(.named("c"), now: now) }
        }
        stage.act { $0.close(first, now: $1) }
        let again = try stage.act { engine, now in try engine.open(.named("a"), now: now) }
        #expect(again != first)
    }

    // C-74
    @Test func `a closed room → published messages have an unknown outcome, later calls do nothing`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...2, in: room, on: stage)
        stage.act { $0.close(room, now: $1) }
        #expect(
            stage.events(in: room).suffix(3) == [
                .failed(counter: 1, .outcomeUnknown), .failed(counter: 2, .outcomeUnknown), .closed(nil),
            ])
        #expect(stage.log.all(Close.self).count == 1)
        #expect(throws: ClientError.noRoom) { try send(3...3, in: room, on: stage) }
        // Calls for a removed room have no effect.
        stage.forgetOutputs()
        let frames = stage.log.frames.count
        stage.act { engine, now in
            engine.close(room, now: now)
            engine.suspend(room, now: now)
            engine.resume(room, now: now)
            engine.consumed(room, byteCount: 10, upTo: 1, now: now)
            engine.markRead(room, upTo: 1, now: now)
            engine.setTyping(true, in: room, now: now)
            engine.sendTransient(.text, [], in: room, now: now)
            engine.respond(to: .init(session: 1, correlation: 1), in: room, now: now)
        }
        #expect(stage.act { $0.cancel(counter: 1, in: room, now: $1) } == false)
        stage.run(for: .milliseconds(500))
        #expect(stage.outputs.isEmpty)
        #expect(stage.log.frames.count == frames)
    }

    // C-74
    @Test func `a room that is closed while its session is opening → sent messages have an unknown outcome`() throws {
        let stage = ClientStage()
        stage.goOnline()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...1, in: room, on: stage)
        stage.act { $0.close(room, now: $1) }
        #expect(sent(stage) == [1])
        #expect(stage.events(in: room).suffix(2) == [.failed(counter: 1, .outcomeUnknown), .closed(nil)])
    }

    @Test func `suspend and resume of a room are sent once, and suspend again on the next link`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.act { $0.suspend(room, now: $1) }
        stage.act { $0.suspend(room, now: $1) }
        #expect(stage.log.all(Suspend.self).count == 1)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(stage.log.frames.suffix(3).map(\.type) == [.hello, .open, .suspend])
        stage.welcome()
        stage.act { $0.resume(room, now: $1) }
        stage.act { $0.resume(room, now: $1) }
        #expect(stage.log.all(Resume.self).count == 1)
    }

    //
    @Test(arguments: [
        ErrorCode.roomForbidden, .forbidden, .unsupportedKind, .tooManySessions, .roomFull,
    ])
    func `a reset with a permanent code closes the room and fails its messages`(code: ErrorCode) throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...1, in: room, on: stage)
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        stage.say(Reset(session: .first, code: code))
        #expect(
            stage.events(in: room).suffix(2) == [.failed(counter: 1, .refused(code, reason: nil)), .closed(code)])
        stage.run(for: .seconds(3))
        #expect(stage.log.all(Open.self).count == 1)
    }

    //
    @Test func `a session reset by the server is opened again, and unaccepted messages are sent in order`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...5, in: room, on: stage)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)]), on: .first)
        stage.say(Reset(session: .first, code: .storeUnavailable))
        try send(6...6, in: room, on: stage)
        #expect(sent(stage) == [1, 2, 3, 4, 5])
        stage.run(for: .seconds(2))
        #expect(stage.log.all(Open.self).count == 2)
        #expect(sent(stage).suffix(4) == [3, 4, 5, 6])
        #expect(!stage.events(in: room).contains(.closed(.storeUnavailable)))
        stage.opened(.second)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 3, count: 4, firstOffset: 3)]), on: .second)
        #expect(stage.events(in: room).last == .accepted(AcceptedRun(firstCounter: 3, count: 4, firstOffset: 3)))
    }

    //
    @Test func `a session that the server ends repeatedly is opened again after growing delays`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        stage.goOnline(.lobby)
        var session = SessionID.first
        var waits: [Duration] = []
        for round in 1...6 {
            let opens = stage.log.all(Open.self).count
            let began = stage.now
            if round == 1 {
                stage.say(Close(code: nil, reason: nil), on: session)
            } else {
                stage.say(Reset(session: session, code: .serverBusy))
            }
            while stage.log.all(Open.self).count == opens, stage.now - began < .seconds(64) {
                stage.run(for: .milliseconds(10))
            }
            waits.append(stage.now - began)
            session = SessionID(rawValue: session.rawValue + 2)
        }
        for (index, wait) in waits.enumerated() {
            #expect(wait <= .seconds(1 << min(index + 1, 5)) + .milliseconds(10))
        }
        #expect(waits.max() ?? .zero > .seconds(2))
    }

    @Test func `a room whose open is delayed is opened with the next connection`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.say(Reset(session: .first, code: .serverBusy))
        stage.end()
        try send(1...1, in: room, on: stage)
        stage.run(for: .seconds(13))
        stage.accept()
        #expect(stage.log.frames.map(\.type) == [.hello, .open, .data])
        stage.act { $0.close(room, now: $1) }
        stage.run(for: .seconds(5))
        #expect(stage.log.all(Open.self).count == 1)
    }

    @Test func `a room beyond the server's limit is closed with tooManySessions, others stay open`() throws {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(limits: Limits(maxSessions: 1))
        let first = try stage.act { engine, now in try engine.open(.named("a"), now: now) }
        let second = try stage.act { engine, now in try engine.open(.named("b"), now: now) }
        #expect(stage.events(in: second) == [.closed(.tooManySessions)])
        #expect(stage.events(in: first).isEmpty)
    }

    // MARK: Bounds

    //
    @Test func `a counter that does not rise → counterNotRising`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(5...5, in: room, on: stage)
        #expect(throws: ClientError.counterNotRising) { try send(5...5, in: room, on: stage) }
        #expect(throws: ClientError.counterNotRising) { try send(4...4, in: room, on: stage) }
        try send(9...9, in: room, on: stage)
    }

    @Test func `a message beyond the limit → messageTooLarge, a queued one fails when the limit is known`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        #expect(throws: ClientError.messageTooLarge) { try send(1...1, in: room, on: stage, byteCount: 1 << 20) }
        try send(1...1, in: room, on: stage, byteCount: 40_000)
        try send(2...2, in: room, on: stage)
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        // It was sent before the limits were known.
        stage.welcome(limits: Limits(maxMessageByteCount: 20_000))
        stage.say(Reset(session: .first, code: .messageTooLarge))
        stage.run(for: .seconds(2))
        #expect(stage.events(in: room).last == .failed(counter: 1, .refused(.messageTooLarge, reason: nil)))
        #expect(sent(stage).suffix(1) == [2])
    }

    // C-74
    @Test func `a message that was handed over, beyond the limit of the next relay → outcomeUnknown`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...1, in: room, on: stage, byteCount: 40_000)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        stage.welcome(limits: Limits(maxMessageByteCount: 20_000))
        stage.say(Reset(session: .first, code: .messageTooLarge))
        stage.run(for: .seconds(2))
        #expect(stage.events(in: room).last == .failed(counter: 1, .outcomeUnknown))
    }

    // MARK: Time to live and cancellation

    //
    @Test func `a queued message expires at the end of its time to live, others remain`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...1, in: room, on: stage)
        try send(2...2, in: room, on: stage, timeToLive: .seconds(5))
        try send(3...3, in: room, on: stage, timeToLive: .seconds(2))
        stage.run(for: .seconds(2))
        #expect(stage.events(in: room) == [.failed(counter: 3, .expired)])
        stage.run(for: .seconds(3))
        #expect(stage.events(in: room).last == .failed(counter: 2, .expired))
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        #expect(sent(stage) == [1])
        #expect(stage.engine.rooms.timers.deadline(of: .expiry(room)) == nil)
    }

    //
    @Test func `a sent message contains its remaining time to live and does not expire at the client`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...1, in: room, on: stage, timeToLive: .seconds(5))
        stage.run(for: .seconds(2))
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        #expect(stage.log.last(Message.self)?.timeToLive == .seconds(3))
        stage.run(for: .seconds(6))
        #expect(!stage.events(in: room).contains(.failed(counter: 1, .expired)))
    }

    @Test func `a message of an earlier link is sent again, does not expire and cannot be cancelled`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...1, in: room, on: stage, timeToLive: .seconds(5))
        stage.end()
        try send(2...2, in: room, on: stage, timeToLive: .seconds(5))
        stage.run(for: .seconds(13))
        #expect(stage.events(in: room).last == .failed(counter: 2, .expired))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(sent(stage).last == 1)
        #expect(stage.log.last(Message.self)?.timeToLive == .zero)
        stage.welcome()
        stage.say(Reset(session: .first, code: .storeUnavailable))
        #expect(stage.act { !$0.cancel(counter: 1, in: room, now: $1) })
        #expect(!stage.events(in: room).contains(.failed(counter: 1, .expired)))
    }

    //
    @Test func `a queued message can be cancelled, a sent one cannot`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        try send(1...3, in: room, on: stage)
        #expect(stage.act { $0.cancel(counter: 2, in: room, now: $1) })
        #expect(stage.act { !$0.cancel(counter: 2, in: room, now: $1) })
        #expect(stage.act { !$0.cancel(counter: 9, in: room, now: $1) })
        #expect(stage.events(in: room) == [.failed(counter: 2, .cancelled)])
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        #expect(sent(stage) == [1, 3])
        #expect(stage.act { !$0.cancel(counter: 3, in: room, now: $1) })
    }

    @Test
    func `messages beyond the first 256 KiB can be cancelled, and are sent after an acknowledgement`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...40, in: room, on: stage, byteCount: 10_000)
        let handed = try #require(stage.room(room)).ledger.sessionUpTo
        #expect(handed == 27)
        #expect(stage.act { !$0.cancel(counter: 27, in: room, now: $1) })
        #expect(stage.act { $0.cancel(counter: 28, in: room, now: $1) })
        stage.acknowledge(UInt64(1 + sent(stage).count))
        #expect(sent(stage).contains(29))
        #expect(!sent(stage).contains(28))
    }

    // MARK: Outcomes of messages

    @Test func `a refused message fails once, and the others are accepted`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...3, in: room, on: stage)
        let refusal = Receipt.refused(Receipt.Refusal(counter: 2, code: .invalidValue, reason: "no"))
        stage.say(refusal, on: .first)
        stage.say(refusal, on: .first)
        #expect(
            stage.events(in: room).filter { $0 == .failed(counter: 2, .refused(.invalidValue, reason: "no")) }.count
                == 1)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 3, firstOffset: 4)]), on: .first)
        #expect(
            stage.events(in: room).suffix(2) == [
                .accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)),
                .accepted(AcceptedRun(firstCounter: 3, count: 1, firstOffset: 6)),
            ])
    }

    //
    @Test func `repeated runs, and runs beyond the sent counters → each message is accepted once`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try send(1...3, in: room, on: stage)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)]), on: .first)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)]), on: .first)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 3, count: .max, firstOffset: 3)]), on: .first)
        let accepted = stage.events(in: room).filter { if case .accepted = $0 { true } else { false } }
        #expect(
            accepted == [
                .accepted(AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)),
                .accepted(AcceptedRun(firstCounter: 3, count: 1, firstOffset: 3)),
            ])
    }

    // MARK: Receipts, typing

    //
    @Test func `three consumed messages → one delivered receipt after 25 ms, and read receipts only rise`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 5)
        for offset in UInt64(1)...3 {
            stage.message("line", offset: offset)
            stage.act { $0.consumed(room, byteCount: 200, upTo: offset, now: $1) }
        }
        #expect(stage.log.all(Receipt.self).isEmpty)
        stage.run(for: .milliseconds(25))
        #expect(stage.log.all(Receipt.self) == [.progress(Receipt.Progress(.delivered, upTo: 3))])
        stage.act { $0.markRead(room, upTo: 2, now: $1) }
        stage.act { $0.markRead(room, upTo: 1, now: $1) }
        stage.run(for: .milliseconds(25))
        stage.act { $0.markRead(room, upTo: 5, now: $1) }
        stage.run(for: .milliseconds(25))
        #expect(
            stage.log.all(Receipt.self).dropFirst() == [
                .progress(Receipt.Progress(.read, upTo: 2)), .progress(Receipt.Progress(.read, upTo: 5)),
            ])
    }

    //
    @Test func `receipts are sent again on a new link when the room is open`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 4)
        stage.act { $0.consumed(room, byteCount: 1, upTo: 4, now: $1) }
        stage.act { $0.markRead(room, upTo: 2, now: $1) }
        stage.run(for: .milliseconds(25))
        stage.acknowledge(3)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        stage.welcome()
        stage.run(for: .milliseconds(100))
        #expect(stage.log.all(Receipt.self).isEmpty)
        stage.opened(.first, head: 4)
        stage.run(for: .milliseconds(25))
        #expect(
            stage.log.all(Receipt.self) == [
                .progress(Receipt.Progress(.delivered, upTo: 4)), .progress(Receipt.Progress(.read, upTo: 2)),
            ])
        stage.acknowledge(3)
        let isSettled = stage.engine.isSettled
        #expect(isSettled)
    }

    @Test func `no receipts are sent to a server without the feature`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(features: [])
        stage.opened(.first)
        stage.act { $0.markRead(room, upTo: 2, now: $1) }
        stage.run(for: .seconds(1))
        #expect(stage.log.all(Receipt.self).isEmpty)
    }

    @Test func `a receipt for a full session is sent when its queue has space`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 4)
        stage.takesBytes = false
        while stage.engine.client.link.send(.receipt, EncodedBody([]), on: .first) == .queued {}
        stage.act { $0.consumed(room, byteCount: 1, upTo: 4, now: $1) }
        stage.run(for: .milliseconds(25))
        stage.takeBytes()
        stage.acknowledge(8193)
        stage.run(for: .seconds(1))
        #expect(stage.log.all(Receipt.self).last == .progress(Receipt.Progress(.delivered, upTo: 4)))
    }

    @Test func `typing and transient frames are sent on a connection, and not kept without one`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.act { $0.setTyping(true, in: room, now: $1) }
        stage.act { $0.sendTransient(.location, [], in: room, now: $1) }
        #expect(stage.log.all(Transient.self).map(\.content) == [.typing(true), .message(.location, [])])
        stage.end()
        stage.act { $0.setTyping(false, in: room, now: $1) }
        stage.run(for: .seconds(13))
        stage.accept()
        #expect(stage.log.all(Transient.self).isEmpty)
    }

    // W-20
    @Test func `a body is compressed if this makes it smaller and the server has the feature`() throws {
        for features in [Features.supported, []] {
            let stage = ClientStage { $0.link.compressesMessages = true }
            let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
            stage.welcome(features: features)
            try send(1...1, in: room, on: stage, byteCount: 4000)
            try send(2...2, in: room, on: stage)
            let frames = stage.log.frames.filter { $0.type == .data }
            #expect(frames.map(\.header.compression) == [features.isEmpty ? .none : .zlib, .none])
        }
    }
}
