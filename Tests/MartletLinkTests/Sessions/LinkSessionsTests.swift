import MartletWire
import Testing

@testable import MartletLink

@Suite("The sessions of a link")
struct LinkSessionsTests {
    private let one: [UInt8] = [1]
    private let two: [UInt8] = [2]

    @Test func `messages arrive once and in order, over a cut connection`() throws {
        let pair = try SessionPair()
        let session = try pair.open("files", .file)
        #expect(try pair.call(.send(one, on: session.client), at: pair.client) == .done)
        pair.cut()
        #expect(try pair.call(.send(two, on: session.client), at: pair.client) == .done)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(one))
        let waiting = try pair.begin(.receive(session.server), at: pair.server)
        #expect(pair.server.results[waiting] == nil)
        try pair.resume()
        #expect(pair.server.results[waiting] == .message(two))
    }

    @Test func `a session is opened when the link is confirmed`() throws {
        let pair = try SessionPair(isEstablished: false)
        let call = try pair.begin(.open("a", .chat), at: pair.client)
        #expect(pair.client.results[call] == nil)
        #expect(pair.client.hasPending)
        pair.client.sessions.established(&pair.client.link, now: pair.now)
        try pair.settle()
        guard case .session = pair.client.results[call] else {
            Issue.record("the session is not open")
            return
        }
        #expect(!pair.client.hasPending)
    }

    // S-4
    @Test func `sessions beyond the rate of opens wait for it`() throws {
        let limits = Limits(maxSessions: Link.maxSessions)
        var link = Link(role: .client, limits: limits, features: .supported, began: .zero)
        var sessions = LinkSessions()
        sessions.established(&link, now: .zero)
        for number in 0...Link.ownOpenBurst {
            sessions.begin(.open("a", .chat), CallID(UInt64(number)), &link, now: .zero)
            guard let (_, result) = sessions.nextResult(), case .session(let key, _, _) = result else {
                #expect(number == Link.ownOpenBurst)
                break
            }
            sessions.begin(.reset(key, .cancelled), CallID(0), &link, now: .zero)
        }
        let due = sessions.deadline
        let deadline = try #require(due)
        let isFlushed = sessions.isFlushed(link)
        #expect(!isFlushed, "a session waits")
        sessions.fill(&link, now: deadline)
        let (result, later) = (sessions.nextResult(), sessions.deadline)
        #expect(result?.0 == CallID(UInt64(Link.ownOpenBurst)))
        #expect(later == nil)
    }

    @Test func `one session more than the link permits is refused`() throws {
        let pair = try SessionPair(Limits(maxSessions: Limits.minimum.maxSessions))
        for _ in 0..<Limits.minimum.maxSessions { _ = try pair.open("a") }
        #expect(try pair.call(.open("a", .chat), at: pair.client) == .failed(.tooManySessions))
    }

    @Test func `sessions that the peer opens and resets and the application does not take -> those kept are bounded`() {
        var link = Link(role: .relay, limits: Limits(), features: .supported, began: .zero)
        var sessions = LinkSessions()
        sessions.established(&link, now: .zero)
        for number in 0...LinkSessions.maxOfferedCount {
            let id = SessionID(rawValue: UInt16(2 * number + 1))
            sessions.handle(.open(id, Open(room: RoomName("a"), kind: .chat, cursor: 0)), &link)
            sessions.handle(.reset(id, code: .cancelled), &link)
        }
        for number in 0...LinkSessions.maxOfferedCount {
            sessions.begin(.accept, CallID(UInt64(number)), &link, now: .zero)
            let result = sessions.nextResult()
            #expect((result != nil) == (number < LinkSessions.maxOfferedCount))
        }
    }

    // S-35, S-38
    @Test func `a send waits while the receiver has not taken a window, and continues when it takes`() throws {
        let pair = try SessionPair()
        let session = try pair.open("files")
        let message = [UInt8](repeating: 7, count: 10_000)
        var calls: [UInt64] = []
        for _ in 0..<60 { calls.append(try pair.begin(.send(message, on: session.client), at: pair.client)) }
        let sent = calls.count { pair.client.results[$0] != nil }
        #expect((20...26).contains(sent), "256 KiB are about 26 messages")
        for _ in 0..<60 {
            #expect(try pair.call(.receive(session.server), at: pair.server) == .message(message))
        }
        #expect(calls.allSatisfy { pair.client.results[$0] == .done })
        #expect(pair.client.isFlushed && !pair.client.link.waitsForCredit)
    }

    @Test func `a session whose messages are taken continues while all others are full`() throws {
        let pair = try SessionPair()
        let message = [UInt8](repeating: 7, count: 10_000)
        for name in ["a", "b", "c", "d"] {
            let session = try pair.open(name)
            for _ in 0..<40 { try pair.begin(.send(message, on: session.client), at: pair.client) }
        }
        let live = try pair.open("live")
        for _ in 0..<100 {
            try pair.begin(.send(message, on: live.client), at: pair.client)
            let call = try pair.begin(.receive(live.server), at: pair.server)
            // A probe for credit may be due.
            if pair.server.results[call] == nil { try pair.advance(by: .seconds(5)) }
            #expect(pair.server.results[call] == .message(message))
        }
    }

    // S-38
    @Test func `messages that a call waits for -> their credit returns`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let message = [UInt8](repeating: 7, count: 10_000)
        for _ in 0..<60 {
            let reader = try pair.begin(.receive(session.server), at: pair.server)
            #expect(try pair.call(.send(message, on: session.client), at: pair.client) == .done)
            #expect(pair.server.results[reader] == .message(message))
        }
    }

    // S-36
    @Test func `a message longer than the window arrives`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a", .signaling)
        let long = [UInt8](repeating: 7, count: 500_000)
        #expect(try pair.call(.send(one, on: session.client), at: pair.client) == .done)
        #expect(try pair.call(.send(long, on: session.client), at: pair.client) == .done)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(one))
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(long))
    }

    // S-44
    @Test func `a message of the maximum length is sent, and a longer one is refused`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a", .file)
        let most = LinkSession.maxMessageByteCount(Limits())
        let message = [UInt8](repeating: 7, count: most)
        #expect(try pair.call(.send(message, on: session.client), at: pair.client) == .done)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(message))
        #expect(try pair.call(.send(message + one, on: session.client), at: pair.client) == .failed(.messageTooLarge))
    }

    @Test func `close lets the messages that wait arrive, and the messages end`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let message = [UInt8](repeating: 7, count: 100_000)
        var calls: [UInt64] = []
        for _ in 0..<5 { calls.append(try pair.begin(.send(message, on: session.client), at: pair.client)) }
        try pair.begin(.close(session.client), at: pair.client)
        #expect(try pair.call(.send(one, on: session.client), at: pair.client) == .failed(.closed))
        for _ in 0..<5 { #expect(try pair.call(.receive(session.server), at: pair.server) == .message(message)) }
        #expect(try pair.call(.receive(session.server), at: pair.server) == .end)
        #expect(calls.allSatisfy { pair.client.results[$0] == .done })
        // The other direction is open.
        #expect(try pair.call(.send(two, on: session.server), at: pair.server) == .done)
        #expect(try pair.call(.receive(session.client), at: pair.client) == .message(two))
    }

    @Test func `a session that both sides have closed and dropped leaves no state`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        try pair.begin(.send(one, on: session.client), at: pair.client)
        try pair.begin(.release(session.client), at: pair.client)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(one))
        try pair.begin(.release(session.server), at: pair.server)
        #expect(!pair.client.hasSessions && !pair.server.hasSessions)
        #expect(pair.client.sessionCount == 0 && pair.server.sessionCount == 0)
    }

    @Test func `messages for a dropped session are discarded, and their credit returns`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let message = [UInt8](repeating: 7, count: 10_000)
        let calls = try (0..<60).map { _ in try pair.begin(.send(message, on: session.client), at: pair.client) }
        #expect(pair.client.results[calls[59]] == nil, "the window is full")
        try pair.begin(.release(session.server), at: pair.server)
        #expect(calls.allSatisfy { pair.client.results[$0] == .done })
        for _ in 0..<60 { #expect(try pair.call(.send(message, on: session.client), at: pair.client) == .done) }
    }

    // S-10
    @Test func `a reset fails the calls of both sides that wait`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let reader = try pair.begin(.receive(session.client), at: pair.client)
        try pair.begin(.reset(session.server, .cancelled), at: pair.server)
        #expect(pair.client.results[reader] == .failed(.reset(.cancelled)))
        #expect(try pair.call(.send(one, on: session.client), at: pair.client) == .failed(.reset(.cancelled)))
        #expect(try pair.call(.receive(session.server), at: pair.server) == .failed(.reset(.cancelled)))
        pair.client.sessions.linkBegan()
        #expect(try pair.call(.receive(session.client), at: pair.client) == .failed(.reset(.cancelled)))
    }

    // S-10, S-38
    @Test func `a reset by the receiver -> its messages are discarded, and their credit returns to the link`() throws {
        let pair = try SessionPair()
        let message = [UInt8](repeating: 7, count: 10_000)
        for _ in 0..<40 {
            let session = try pair.open("a", .file)
            for _ in 0..<20 { #expect(try pair.call(.send(message, on: session.client), at: pair.client) == .done) }
            try pair.begin(.reset(session.server, .cancelled), at: pair.server)
            #expect(try pair.call(.receive(session.server), at: pair.server) == .failed(.reset(.cancelled)))
        }
    }

    @Test func `a reset by the sender -> messages that have arrived are taken before the failure`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        try pair.begin(.send(one, on: session.client), at: pair.client)
        try pair.begin(.reset(session.client, .cancelled), at: pair.client)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(one))
        #expect(try pair.call(.receive(session.server), at: pair.server) == .failed(.reset(.cancelled)))
    }

    @Test func `a message of another kind resets its session`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("a"))
        let answers = (1...4).map { pair.client.link.send(.data, EncodedBody(body), on: SessionID(rawValue: $0)) }
        #expect(answers.contains(.queued))
        try pair.settle()
        #expect(try pair.call(.receive(session.client), at: pair.client) == .failed(.reset(.unsupportedKind)))
    }

    // C-35
    @Test func `another link fails the sessions of the last one behind the messages that have arrived`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        try pair.begin(.send(one, on: session.server), at: pair.server)
        pair.client.sessions.linkBegan()
        #expect(try pair.call(.receive(session.client), at: pair.client) == .message(one))
        #expect(try pair.call(.receive(session.client), at: pair.client) == .failed(.linkEnded))
        #expect(try pair.call(.send(one, on: session.client), at: pair.client) == .failed(.linkEnded))
        let next = try pair.begin(.open("b", .chat), at: pair.client)
        #expect(pair.client.results[next] == nil)
    }

    // S-38
    @Test func `messages of the last link that are taken late -> no credit of a session of another link`() throws {
        let message = [UInt8](repeating: 7, count: 10_000)
        let pair = try SessionPair()
        let session = try pair.open("a")
        for _ in 0..<20 { try pair.begin(.send(message, on: session.server), at: pair.server) }
        pair.beginOtherLink()
        let other = try pair.open("b")
        for _ in 0..<60 { try pair.begin(.send(message, on: other.server), at: pair.server) }
        let sentCount = pair.server.doneCount
        for _ in 0..<20 {
            #expect(try pair.call(.receive(session.client), at: pair.client) == .message(message))
        }
        #expect(pair.server.doneCount == sentCount)
        #expect(try pair.call(.receive(session.client), at: pair.client) == .failed(.linkEnded))
        try pair.begin(.reset(session.client, .cancelled), at: pair.client)
        for _ in 0..<60 { #expect(try pair.call(.receive(other.client), at: pair.client) == .message(message)) }
    }

    @Test func `the end fails all calls that wait, and later ones`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let reader = try pair.begin(.receive(session.client), at: pair.client)
        let acceptor = try pair.begin(.accept, at: pair.client)
        pair.client.sessions.end(.gaveUp(.unauthenticated))
        try pair.settle()
        let failure = SessionResult.failed(.gaveUp(.unauthenticated))
        #expect(pair.client.results[reader] == failure)
        #expect(pair.client.results[acceptor] == failure)
        #expect(try pair.call(.open("b", .chat), at: pair.client) == failure)
        #expect(try pair.call(.accept, at: pair.client) == failure)
    }

    @Test func `a cancelled send is not sent, and a cancelled receive takes no message`() throws {
        let pair = try SessionPair()
        let session = try pair.open("a")
        let message = [UInt8](repeating: 7, count: 50_000)
        var passedCount = -1
        var second: UInt64
        repeat {
            passedCount += 1
            second = try pair.begin(.send(message, on: session.client), at: pair.client)
        } while pair.client.results[second] != nil
        let third = try pair.begin(.send(one, on: session.client), at: pair.client)
        #expect(pair.client.results[second] == nil && pair.client.results[third] == nil)
        try pair.cancel(second, at: pair.client)
        #expect(pair.client.results[second] == .cancelled)
        #expect(pair.client.results[third] == .done)
        for _ in 0..<passedCount {
            #expect(try pair.call(.receive(session.server), at: pair.server) == .message(message))
        }
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(one))
        let reader = try pair.begin(.receive(session.server), at: pair.server)
        try pair.cancel(reader, at: pair.server)
        #expect(pair.server.results[reader] == .cancelled)
        try pair.begin(.send(two, on: session.client), at: pair.client)
        #expect(try pair.call(.receive(session.server), at: pair.server) == .message(two))
    }

    @Test func `a cancelled open opens no session`() throws {
        let pair = try SessionPair(isEstablished: false)
        let call = try pair.begin(.open("a", .chat), at: pair.client)
        try pair.cancel(call, at: pair.client)
        #expect(pair.client.results[call] == .cancelled)
        pair.client.sessions.established(&pair.client.link, now: pair.now)
        try pair.settle()
        #expect(pair.client.sessionCount == 0 && !pair.client.hasSessions)
    }
}
