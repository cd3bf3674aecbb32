import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Frames of a server in pieces of any size, and the events that they cause.
@Suite struct ClientRoomsReceiveTests {
    @Test func `frames received byte by byte give their events`() {
        let stage = ClientStage()
        let room = stage.act { engine, now in try? engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        var bytes = stage.maker.frame(ClientStage.welcome())
        bytes += stage.maker.frame(Opened(head: 3, first: 1, members: [.bob]), on: .first)
        bytes += stage.maker.frame(Gap(offsets: 1...3), on: .first)
        for byte in bytes { stage.send([byte]) }
        #expect(stage.engine.status.isOnline)
        #expect(
            room.map { stage.events(in: $0) } == [.opened(head: 3, first: 1, members: [.bob]), .gap(1...3)])
    }

    // C-46
    @Test func `received bytes of an incomplete frame delay the ping`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try stage.act { engine, now in
            _ = try engine.request(.locate, to: .bob, in: room, deadline: .seconds(60), now: now)
        }
        stage.acknowledge(2)
        for byte in stage.maker.frame(Gap(offsets: 1...2), on: .first).prefix(25) {
            stage.run(for: .seconds(1))
            stage.send([byte])
        }
        #expect(stage.engine.status.isOnline)
        #expect(stage.log.all(Ping.self).isEmpty)
        // When no more bytes arrive, a ping is sent.
        stage.run(for: .seconds(4))
        #expect(stage.log.all(Ping.self).count == 1)
    }

    //
    @Test func `messages with repeated or lower offsets are dropped`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, RoomOptions(cursor: 4))
        for offset in [UInt64(4), 5, 5, 3, 6] { stage.message("line \(offset)", offset: offset) }
        let offsets = stage.events(in: room).compactMap { event in
            if case .message(let message, _) = event { message.relay?.offset } else { nil }
        }
        #expect(offsets == [5, 6])
    }

    //
    @Test func `a log that ends before the cursor is a new log, whose next messages are delivered`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, RoomOptions(cursor: 4), head: 1)
        for offset in [UInt64(1), 2, 3] { stage.message("line \(offset)", offset: offset) }
        let offsets = stage.events(in: room).compactMap { event in
            if case .message(let message, _) = event { message.relay?.offset } else { nil }
        }
        #expect(offsets == [2, 3])
    }

    //
    @Test func `a log of another identity → logReplaced, then its messages from offset 1`() {
        let stage = ClientStage()
        let old = RoomCursor(log: LogID(rawValue: 7), offset: 4)
        let room = stage.goOnline(.lobby, RoomOptions(cursor: old), head: 9, log: LogID(rawValue: 8))
        for offset in [UInt64(1), 2, 3] { stage.message("line \(offset)", offset: offset) }
        let new = RoomCursor(log: LogID(rawValue: 8), offset: 0)
        let events = stage.events(in: room)
        #expect(events.first == .logReplaced(previous: old, current: new))
        #expect(events.count { if case .message = $0 { true } else { false } } == 3)
        #expect(stage.log.last(Open.self) == Open(room: .lobby, cursor: 4, log: LogID(rawValue: 7), noLocal: true))
    }

    //
    @Test(arguments: [(3, 9, 3), (3, 2, 2), (nil, 9, 0)] as [(UInt64?, UInt64, UInt64)])
    func `a log that branches from the previous one → logReplaced with the branch, at most the last offset`(
        upTo: UInt64?, head: UInt64, branch: UInt64
    ) throws {
        let stage = ClientStage()
        let (old, new) = (LogID(rawValue: 7), LogID(rawValue: 8))
        let cursor = RoomCursor(log: old, offset: 4)
        let room = try stage.act { engine, now in try engine.open(.lobby, RoomOptions(cursor: cursor), now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        stage.say(Opened(head: head, first: 1, log: new, upTo: upTo, members: [.alice]), on: .first)
        let current = RoomCursor(log: new, offset: branch)
        #expect(
            stage.events(in: room).first == .logReplaced(previous: cursor, current: current, branch: branch))
    }

    //
    @Test func `a log of the same identity continues after the cursor, without logReplaced`() {
        let stage = ClientStage()
        let log = LogID(rawValue: 7)
        let room = stage.goOnline(.lobby, RoomOptions(cursor: RoomCursor(log: log, offset: 4)), head: 9, log: log)
        for offset in [UInt64(4), 5] { stage.message("line \(offset)", offset: offset) }
        #expect(stage.events(in: room).count == 2)
        #expect(stage.cursor(of: room) == RoomCursor(log: log, offset: 5))
    }

    //
    @Test func `a log without identity that ends before the cursor → logReplaced`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, RoomOptions(cursor: 4), head: 1)
        let told = RoomEvent.logReplaced(previous: RoomCursor(offset: 4), current: RoomCursor(offset: 1))
        #expect(stage.events(in: room).first == told)
    }

    //
    @Test func `a new log starts receipts again, and messages of the old log cause none`() throws {
        let stage = ClientStage()
        let old = LogID(rawValue: 7)
        let room = stage.goOnline(.lobby, head: 0, log: old)
        for offset in UInt64(1)...9 { stage.message("line \(offset)", offset: offset) }
        stage.act { $0.consumed(room, byteCount: 1, upTo: RoomCursor(log: old, offset: 8), now: $1) }
        stage.run(for: .milliseconds(50))
        stage.say(Reset(session: .first, code: .storeUnavailable, creditUsed: nil))
        stage.run(for: .seconds(3))
        stage.opened(.second, head: 3, log: LogID(rawValue: 8))
        stage.act { $0.consumed(room, byteCount: 1, upTo: RoomCursor(log: old, offset: 9), now: $1) }
        stage.act { $0.markRead(room, upTo: RoomCursor(log: old, offset: 9), now: $1) }
        stage.run(for: .seconds(1))
        let before = stage.log.all(Receipt.self).count
        for offset in UInt64(1)...2 { stage.message("new \(offset)", offset: offset, on: .second) }
        stage.act { engine, now in
            engine.consumed(room, byteCount: 1, upTo: RoomCursor(log: LogID(rawValue: 8), offset: 2), now: now)
        }
        stage.run(for: .seconds(1))
        let receipts = stage.log.all(Receipt.self)
        #expect(receipts.count == before + 1)
        #expect(receipts.last == .progress(Receipt.Progress(.delivered, upTo: 2)))
    }

    //
    @Test func `a message of this client that is marked as read → a receipt with its offset`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, head: 0, log: LogID(rawValue: 7))
        try stage.engine.send(
            counter: 1, content: MessageContent(text: "own"), timeToLive: nil, in: room, now: stage.now)
        stage.act { _, _ in }
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)]), on: .first)
        stage.act { $0.markRead(room, upTo: 2, now: $1) }
        stage.run(for: .seconds(1))
        #expect(stage.log.last(Receipt.self) == .progress(Receipt.Progress(.read, upTo: 1)))
    }

    //
    @Test func `tail is sent until the room is opened, a later open has a cursor instead`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby, RoomOptions(tail: 5), head: 12, log: LogID(rawValue: 7))
        #expect(stage.log.last(Open.self)?.tail == 5)
        #expect(stage.cursor(of: room) == RoomCursor(log: LogID(rawValue: 7), offset: 7))
        stage.say(Reset(session: .first, code: .storeUnavailable, creditUsed: nil))
        stage.run(for: .seconds(3))
        let again = Open(room: .lobby, cursor: 7, log: LogID(rawValue: 7), noLocal: true)
        #expect(stage.log.last(Open.self) == again)
    }

    //
    @Test func `a gap advances the cursor, an old gap has no effect`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.say(Gap(offsets: 1...10), on: .first)
        stage.say(Gap(offsets: 2...9), on: .first)
        stage.message("ten", offset: 10)
        stage.message("eleven", offset: 11)
        #expect(stage.events(in: room).dropFirst().first == .gap(1...10))
        #expect(stage.events(in: room).count == 3)
        #expect(stage.cursor(of: room)?.offset == 11)
    }

    @Test func `presence, typing and transient messages are reported with their sender`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.say(Transient(.presence(.away), sender: .bob), on: .first)
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.say(Transient(.message(.location, []), sender: .bob), on: .first)
        // A frame without a sender is not reported.
        stage.say(Transient(.typing(true)), on: .first)
        #expect(
            stage.events(in: room).dropFirst() == [
                .presence(.bob, .away), .typing(.bob, true), .transient(.bob, .location, []),
            ])
    }

    @Test func `a receipt of another member is reported unchanged`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let progress = Receipt.Progress(.read, upTo: 9, sender: .bob, device: DeviceID(rawValue: 2))
        stage.say(Receipt.progress(progress), on: .first)
        #expect(stage.events(in: room).last == .progress(progress))
    }

    @Test func `a message in fragments is reported as one message`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let text = String(repeating: "long ", count: 10_000)
        let client = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent(text))
        let body = Message.encodeRelay(
            offset: 1, acceptedAt: 1, sender: .bob, device: DeviceID(rawValue: 2), clientBody: client.rawBytes)
        for start in stride(from: 0, to: body.count, by: 16_384) {
            let piece = Array(body[start..<min(start + 16_384, body.count)])
            stage.say(.data, piece, on: .first, flags: start + 16_384 < body.count ? .moreFragments : [])
        }
        guard case .message(let message, let credit) = stage.events(in: room).last else {
            Issue.record("\(stage.events(in: room).count) events")
            return
        }
        #expect(message.text == text)
        #expect(credit == body.count)
    }

    // S-38
    @Test func `late frames of a closed room cause no events, and their credit is released`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.act { $0.close(room, now: $1) }
        stage.forgetOutputs()
        for offset in UInt64(1)...10 { stage.message(String(repeating: "x", count: 10_000), offset: offset) }
        stage.say(Receipt.refused(Receipt.Refusal(counter: 1, code: .refused)), on: .first)
        stage.say(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)]), on: .first)
        stage.say(Close(code: nil, reason: nil), on: .first)
        #expect(stage.outputs.isEmpty)
        #expect(stage.engine.client.link.linkCreditReleased == stage.engine.client.link.linkCreditReceived)
        #expect(stage.engine.client.link.linkCreditReceived > 100_000)
    }

    @Test func `closing a room releases the credit of its unconsumed messages, once`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        for offset in UInt64(1)...10 { stage.message(String(repeating: "x", count: 10_000), offset: offset) }
        #expect(stage.engine.client.link.linkCreditReleased == 0)
        stage.act { $0.close(room, now: $1) }
        #expect(stage.engine.client.link.linkCreditReleased == stage.engine.client.link.linkCreditReceived)
        // A later call of `consumed` releases nothing more.
        stage.act { $0.consumed(room, byteCount: 100_000, upTo: 10, now: $1) }
        #expect(stage.engine.client.link.linkCreditReleased == stage.engine.client.link.linkCreditReceived)
    }

    // S-2, S-51
    @Test func `a session opened by the relay is reset, and others are not affected`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        let theirs = SessionID(rawValue: 2)
        stage.say(Open(room: .hall, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: theirs)
        #expect(stage.log.last(Reset.self)?.session == theirs)
        #expect(stage.log.last(Reset.self)?.code == .unsupportedKind)
        #expect(stage.engine.status.isOnline)
    }

    // S-9
    @Test func `messages, requests and typing are not sent between suspend and resume of the server`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let count = stage.events(in: room).count
        stage.say(Suspend(), on: .first)
        try stage.act { engine, now in
            try engine.send(counter: 1, content: MessageContent(text: "later"), in: room, now: now)
            _ = try engine.request(.locate, to: .bob, in: room, deadline: .seconds(60), now: now)
            engine.setTyping(true, in: room, now: now)
        }
        #expect(stage.log.frames.allSatisfy { ![.data, .request, .transient].contains($0.type) })
        #expect(stage.events(in: room).count == count)
        stage.say(Resume(cursor: nil), on: .first)
        #expect(stage.log.frames.suffix(2).map(\.type) == [.data, .request])
        // A new session is not suspended.
        stage.say(Suspend(), on: .first)
        stage.say(Reset(session: .first, code: .serverBusy))
        stage.run(for: .seconds(2))
        let opened = try #require(stage.log.frames.lastIndex { $0.type == .open })
        #expect(stage.log.frames.dropFirst(opened + 1).first?.type == .data)
    }

    // C-40
    @Test func `frames behind a goaway are ignored`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let count = stage.events(in: room).count
        var bytes = stage.maker.frame(GoAway(Notice(code: .draining)))
        bytes += stage.maker.frame(Gap(offsets: 1...2), on: .first)
        stage.send(bytes)
        #expect(stage.events(in: room).count == count)
        #expect(stage.engine.status.lastFailure == .refused(retryAfter: nil))
    }

    // C-19
    @Test func `on datagrams, a frame before the welcome is ignored until it is repeated`() {
        let stage = ClientStage { $0.link.carrier = .unreliable }
        let room = stage.act { engine, now in try? engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let opened = stage.maker.frame(Opened(head: 0, first: 1, members: []), on: .first)
        stage.send(opened)
        #expect(stage.engine.status.state == .handshaking)
        stage.welcome()
        stage.send(opened)
        #expect(room.map { stage.events(in: $0) } == [.opened(head: 0, first: 1, members: [])])
    }

    //
    @Test func `typing of a member without further notices ends after 10 s`() {
        let stage = ClientStage()
        stage.answersPings = true
        let room = stage.goOnline(.lobby)
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.run(for: .seconds(6))
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.run(for: .milliseconds(9900))
        #expect(stage.events(in: room).filter { $0 == .typing(.bob, false) }.isEmpty)
        stage.run(for: .milliseconds(200))
        #expect(stage.events(in: room).filter { $0 == .typing(.bob, false) }.count == 1)
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.say(Transient(.presence(.away), sender: .bob), on: .first)
        #expect(stage.events(in: room).suffix(2) == [.typing(.bob, false), .presence(.bob, .away)])
    }

    //
    @Test func `typing of two members that begins 4 s apart ends after 10 s each`() {
        let stage = ClientStage()
        stage.answersPings = true
        let room = stage.goOnline(.lobby)
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.run(for: .seconds(4))
        stage.say(Transient(.typing(true), sender: .carol), on: .first)
        stage.run(for: .milliseconds(6100))
        #expect(stage.events(in: room).last == .typing(.bob, false))
        stage.run(for: .milliseconds(4000))
        #expect(stage.events(in: room).suffix(2) == [.typing(.bob, false), .typing(.carol, false)])
    }

    // C-19, W-7
    @Test func `on datagrams, a frame before the welcome beyond the handshake's limit is ignored`() {
        let stage = ClientStage { $0.link.carrier = .unreliable }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let text = MessageContent(text: String(repeating: "x", count: Limits.maxHandshakeBodyByteCount))
        stage.send(stage.maker.frame(Message(counter: 1, content: text), on: .first))
        #expect(stage.engine.status.state == .handshaking)
        stage.welcome()
        #expect(stage.engine.status.state == .online)
    }
}
