import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletSimulator

/// An application that does not take its messages, and a relay that sends more than a window.
@Suite struct RoomReaderTests {
    @Test func `a reader that holds its bound drops messages until it is opened again`() {
        var reader = RoomReader(RoomOptions(), Limits.minimum)
        let bound = reader.maxHeldByteCount
        #expect(reader.receive(1, byteCount: bound, isFull: false) == .new)
        #expect(reader.receive(2, byteCount: 1, isFull: false) == .dropped)
        #expect(reader.take(bound / 2 - 1) == bound / 2 - 1)
        #expect(reader.isLagging && !reader.mayContinue)
        #expect(reader.receive(2, byteCount: 1, isFull: false) == .dropped)
        #expect(reader.take(1) == 1)
        #expect(reader.mayContinue)
        reader.begin()
        #expect(reader.receive(2, byteCount: 1, isFull: false) == .new)
    }

    //
    @Test(
        arguments: [
            (4, 5, 9, 4), (5, 5, 9, 5), (8, 5, 9, 5), (8, 20, 6, 6), (8, nil, 9, 0),
        ] as [(cursor: UInt64, upTo: UInt64?, head: UInt64, kept: UInt64)])
    func `another log -> the lowest of cursor, branch and head, and the previous cursor is reported`(
        cursor: UInt64, upTo: UInt64?, head: UInt64, kept: UInt64
    ) {
        let (old, new) = (LogID(rawValue: 1), LogID(rawValue: 2))
        var reader = RoomReader(RoomOptions(cursor: RoomCursor(log: old, offset: cursor)), Limits.minimum)
        reader.advance(.read, to: RoomCursor(log: old, offset: cursor))
        #expect(
            reader.enter(Opened(head: head, first: 1, log: new, upTo: upTo)) == RoomCursor(log: old, offset: cursor))
        #expect(reader.cursor == RoomCursor(log: new, offset: kept))
        #expect(reader.pendingReceipt?.upTo == (kept == 0 ? nil : kept))
        #expect(reader.receive(kept + 1, byteCount: 1, isFull: false) == .new)
    }

    //
    @Test(arguments: [(9, 9), (20, 12)] as [(read: UInt64, sent: UInt64)])
    func `read before a session of a known log is admitted → a receipt, at most up to the end`(
        read: UInt64, sent: UInt64
    ) {
        let log = LogID(rawValue: 1)
        var reader = RoomReader(RoomOptions(cursor: RoomCursor(log: log, offset: 4)), Limits.minimum)
        reader.advance(.read, to: RoomCursor(log: log, offset: read))
        _ = reader.enter(Opened(head: 12, first: 1, log: log, upTo: nil))
        #expect(reader.pendingReceipt == Receipt.Progress(.read, upTo: sent))
    }

    @Test func `a reader drops messages while the rooms together hold their bound`() {
        var reader = RoomReader(RoomOptions(), Limits.minimum)
        #expect(reader.receive(1, byteCount: 1, isFull: true) == .dropped)
    }

    @Test func `taking more bytes than are held takes the held ones`() {
        var reader = RoomReader(RoomOptions(), Limits.minimum)
        #expect(reader.receive(1, byteCount: 60, isFull: false) == .new)
        #expect(reader.take(70) == 60)
        #expect(reader.heldByteCount == 0)
    }

    @Test func `a read receipt includes delivery`() {
        var reader = RoomReader(RoomOptions(), Limits.minimum)
        #expect(reader.receive(5, byteCount: 1, isFull: false) == .new)
        reader.advance(.delivered, to: RoomCursor(offset: 4))
        #expect(reader.pendingReceipt == Receipt.Progress(.delivered, upTo: 4))
        reader.advance(.read, to: RoomCursor(offset: 5))
        let receipt = Receipt.Progress(.read, upTo: 5)
        #expect(reader.pendingReceipt == receipt)
        reader.reported(receipt)
        #expect(reader.pendingReceipt == nil)
    }

    // R-46, Specs/hostile.md row 35
    @Test func `sessions that are reset repeatedly deliver at most a window and a message`() {
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
    @Test func `an application that takes late receives all messages once, over restarts of the relay`() throws {
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
    @Test func `a room reopened 20 times with 150 KB not taken each time receives all messages`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        var session = SessionID.first
        for offset in 0..<20 as Range<UInt64> {
            for number in 1...10 as ClosedRange<UInt64> {
                stage.message(String(repeating: "x", count: 15_000), offset: 10 * offset + number, on: session)
            }
            stage.act { $0.reopen(room, RoomOptions(cursor: 10 * (offset + 1)), now: $1) }
            stage.say(Close(), on: session)
            session = SessionID(rawValue: session.rawValue + 2)
            stage.opened(session, head: 10 * (offset + 1))
            stage.acknowledge(1, on: session)
        }
        #expect(stage.events(in: room).count { if case .message = $0 { true } else { false } } == 200)
        #expect(stage.engine.rooms.heldByteCount == 0)
    }

    /// The ends of messages that the application holds.
    enum End: CaseIterable {
        case closed
        case reopened
        case kicked
    }

    //
    @Test(arguments: End.allCases)
    func `a room that dropped messages because of others continues when one of them is closed or opened again`(
        end: End
    ) throws {
        let limits = Limits(
            maxBodyByteCount: 32 << 10, maxMessageByteCount: 32 << 10, linkWindow: 64 << 10, sessionWindow: 64 << 10)
        let stage = ClientStage { $0.link.limits = limits }
        stage.answersPings = true
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(limits: limits)
        let rooms = try ["a", "b", "c"].map { name in
            try stage.act { engine, now in try engine.open(.named(name), now: now) }
        }
        let sessions = [1, 3, 5, 7].map { SessionID(rawValue: $0) }
        for session in sessions.prefix(3) {
            stage.opened(session)
            stage.acknowledge(1, on: session)
        }
        let text = String(repeating: "x", count: 15_000)
        for offset in 1...4 as ClosedRange<UInt64> { stage.message(text, offset: offset, on: sessions[0]) }
        // The reset returns the credit of the messages, which the application still holds.
        stage.say(Reset(session: sessions[0], code: .storeUnavailable))
        stage.run(for: .seconds(3))
        for offset in 1...3 as ClosedRange<UInt64> { stage.message(text, offset: offset, on: sessions[1]) }
        stage.message("dropped", offset: 1, on: sessions[2])
        try #require(stage.room(rooms[2])?.reader.isLagging == true)
        switch end {
        case .closed: stage.act { $0.close(rooms[0], now: $1) }
        case .reopened: stage.act { $0.reopen(rooms[0], RoomOptions(), now: $1) }
        case .kicked: stage.say(Reset(session: sessions[3], code: .kicked))
        }
        #expect(stage.log.last(Reset.self)?.session == sessions[2])
        stage.run(for: .seconds(3))
        #expect(stage.log.last(Open.self)?.room == .named("c"))
    }
}
