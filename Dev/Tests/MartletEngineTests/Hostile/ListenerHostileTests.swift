import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Peers that break the rules of a link without rooms, at a listener.
@Suite struct ListenerHostileTests {
    private func body(_ kind: ContentKind, _ tag: MartletWire.Tag = .data, _ bytes: [UInt8] = [1]) -> [UInt8] {
        var content = TLVWriter()
        content.append(tag, bytes: bytes)
        var writer = TLVWriter()
        writer.append(.counter, uint64: 1)
        writer.append(.kind, uint16: kind.rawValue)
        writer.append(.content, bytes: content.bytes)
        return writer.bytes
    }

    private func point(_ welcome: Welcome, _ sessions: [SessionID] = [.control]) -> ResumePoint {
        ResumePoint(
            link: welcome.link, token: welcome.resumeToken,
            positions: sessions.map { SessionPosition(session: $0, received: $0 == .control ? 0 : 1) })
    }

    // MARK: Handshake

    // Specs/hostile.md row 4
    @Test func `a frame of a session before the hello -> expectedHello`() throws {
        let stage = ListenerStage()
        let peer = try #require(stage.connect())
        peer.open(.first)
        #expect(peer.farewell == .expectedHello)
        #expect(stage.takeLink() == nil)
    }

    @Test func `a second hello on a link -> protocolViolation, and the link is kept`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.greet()
        #expect(peer.farewell == .protocolViolation)
        #expect(stage.call(.accept, on: link) == nil, "the link is suspended")
    }

    // C-35, Specs/hostile.md row 23
    @Test func `a resume with a wrong token -> resumeRejected, five times`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        let welcome = try #require(peer.log.last(Welcome.self))
        let forged = ResumePoint(link: welcome.link, token: ResumeToken(9, 9, 9, 9), positions: [])
        let other = try #require(stage.connect())
        for _ in 0..<5 { other.greet(resume: forged) }
        #expect(other.log.all(Reject.self).map(\.notice.code) == Array(repeating: .resumeRejected, count: 5))
        #expect(other.isClosed && !peer.isClosed)
        #expect(stage.call(.accept, on: link) == nil)
    }

    // C-32, C-38
    @Test func `two resumes at once -> the first token is used up, and the link is kept`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        let point = point(try #require(peer.log.last(Welcome.self)), [.control, .first])
        let (first, second) = (try #require(stage.connect()), try #require(stage.connect()))
        #expect(first.greet(resume: point)?.epoch == Epoch(rawValue: 2))
        #expect(peer.farewell == .staleEpoch)
        second.greet(resume: point)
        #expect(second.log.last(Reject.self)?.notice.code == .resumeRejected)
        first.maker = peer.maker
        first.message([5])
        #expect(stage.call(.receive(session), on: link) == .message([5]))
    }

    @Test func `a hello of the same device without a resume -> the earlier link ends behind its messages`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        peer.message([5])
        let (other, _) = try stage.link()
        #expect(peer.farewell == .replaced && !other.isClosed)
        #expect(stage.call(.receive(session), on: link) == .message([5]))
        #expect(stage.call(.receive(session), on: link) == .failed(.linkEnded))
        #expect(stage.call(.send([1], on: session), on: link) == .failed(.linkEnded))
    }

    // MARK: Sessions

    // S-3
    @Test(arguments: [2, 0] as [UInt16])
    func `an open with a number of the server, or of the control session -> protocolViolation`(id: UInt16) throws {
        let stage = ListenerStage()
        let (peer, _) = try stage.link()
        peer.open(SessionID(rawValue: id))
        #expect(peer.farewell == .protocolViolation)
    }

    @Test func `a second open of a session -> protocolViolation, and one session`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        peer.open(.first)
        #expect(peer.farewell == .protocolViolation)
        #expect(stage.takeSession(link) != nil && stage.takeSession(link) == nil)
    }

    // S-51
    @Test(arguments: [SessionKind.account, .attachment])
    func `a session of a kind of rooms -> unsupportedKind, and others continue`(kind: SessionKind) throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first, kind)
        peer.open(.second)
        #expect(peer.resets == [.unsupportedKind])
        #expect(stage.takeSession(link) != nil && stage.takeSession(link) == nil)
        #expect(!peer.isClosed)
    }

    // W-59
    @Test func `messages and closes on an unknown session -> unknownSession`() throws {
        let stage = ListenerStage()
        let (peer, _) = try stage.link()
        peer.message([1])
        peer.say(Close(code: nil, reason: nil), on: .second)
        #expect(peer.resets == [.unknownSession, .unknownSession] && !peer.isClosed)
    }

    // S-7
    @Test func `a message or a second close behind a close -> protocolViolation`() throws {
        for isClose in [true, false] {
            let stage = ListenerStage()
            let (peer, link) = try stage.link()
            peer.open(.first)
            let session = try #require(stage.takeSession(link))
            peer.say(Close(code: nil, reason: nil), on: .first)
            #expect(stage.call(.receive(session), on: link) == .end)
            if isClose { peer.say(Close(code: nil, reason: nil), on: .first) } else { peer.message([1]) }
            #expect(peer.farewell == .protocolViolation)
            // The other direction is open while the link is suspended.
            #expect(stage.call(.send([1], on: session), on: link) == .done)
        }
    }

    // S-10
    @Test func `a session that is reset twice -> its calls fail once, and others continue`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        peer.open(.second)
        let session = try #require(stage.takeSession(link))
        let reader = stage.begin(.receive(session), on: link)
        for _ in 0..<2 { peer.say(Reset(session: .first, code: .cancelled, creditUsed: 0)) }
        #expect(stage.results[reader] == .failed(.reset(.cancelled)))
        #expect(stage.call(.receive(session), on: link) == .failed(.reset(.cancelled)))
        peer.message([7], on: .second)
        let other = try #require(stage.takeSession(link))
        #expect(stage.call(.receive(other), on: link) == .message([7]))
        #expect(!peer.isClosed)
    }

    // S-13
    @Test func `a number that is used again -> calls of the earlier session have no effect on the later one`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let first = try #require(stage.takeSession(link))
        peer.message([1])
        peer.say(Close(code: nil, reason: nil), on: .first)
        stage.call(.close(first), on: link)
        peer.acknowledge(2)
        for number in 1...300 {
            let id = SessionID(rawValue: UInt16(2 * number + 1))
            peer.open(id)
            let session = try #require(stage.takeSession(link))
            stage.call(.release(session), on: link)
            peer.say(Reset(session: id, code: .cancelled, creditUsed: 0))
            stage.run(for: .milliseconds(100))
        }
        peer.maker = FrameMaker()
        peer.send(peer.maker.frame(.open, Open(room: .lobby, cursor: 0).encode(), on: .first))
        let second = try #require(stage.takeSession(link))
        #expect(second != first)
        stage.call(.reset(first, .cancelled), on: link)
        #expect(stage.call(.receive(first), on: link) == .message([1]))
        peer.message([2])
        #expect(stage.call(.receive(second), on: link) == .message([2]))
    }

    @Test func `sessions without end, opened at once -> churnLimit, and a bounded number is kept`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        for number in 0..<400 where !peer.isClosed { peer.open(SessionID(rawValue: UInt16(2 * number + 1))) }
        #expect(peer.farewell == .churnLimit)
        #expect(peer.resets.allSatisfy { $0 == .tooManySessions })
        var count = 0
        while stage.takeSession(link) != nil { count += 1 }
        #expect(count == Link.maxSessions)
    }

    // MARK: Messages

    @Test func `an empty message -> it arrives empty`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        peer.message([])
        #expect(stage.call(.receive(session), on: link) == .message([]))
    }

    @Test func `bodies that are no message of an application -> their session is reset, and others continue`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        var bodies = [[], [1], body(.text, .text, Array("a".utf8)), body(.command, .text, Array("a".utf8))]
        bodies.append(body(LinkSessions.contentKind, .data, []).dropLast(1))
        for (number, body) in bodies.enumerated() {
            let id = SessionID(rawValue: UInt16(2 * number + 1))
            peer.open(id)
            let session = try #require(stage.takeSession(link))
            peer.say(.data, body, on: id)
            guard case .failed(.reset) = stage.call(.receive(session), on: link) else {
                Issue.record("body \(number) was taken")
                continue
            }
        }
        #expect(peer.resets.count == bodies.count && !peer.isClosed)
    }

    // S-44
    @Test func `a message longer than the limit in fragments -> its session is reset with messageTooLarge`() throws {
        var configuration = LinkServerConfiguration()
        configuration.limits = Limits(maxMessageByteCount: Limits.minimum.maxMessageByteCount)
        let stage = ListenerStage(configuration)
        let (peer, link) = try stage.link()
        peer.open(.first, .file)
        let session = try #require(stage.takeSession(link))
        let long = ListenerStage.Peer.body(
            [UInt8](repeating: 1, count: Limits.minimum.maxMessageByteCount))
        for start in stride(from: 0, to: long.count, by: 4096) {
            let part = Array(long[start..<min(start + 4096, long.count)])
            let flags: FrameFlags = start + 4096 < long.count ? .moreFragments : []
            peer.send(peer.maker.frame(.data, part, on: .first, flags: flags))
        }
        #expect(stage.call(.receive(session), on: link) == .failed(.reset(.messageTooLarge)))
        #expect(!peer.isClosed)
    }

    // S-36
    @Test func `messages beyond the credit of a session -> creditExceeded, and those within it are kept`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        let message = [UInt8](repeating: 1, count: 10_000)
        var sentCount = 0
        while !peer.isClosed, sentCount < 100 {
            peer.message(message)
            sentCount += 1
        }
        #expect(peer.farewell == .creditExceeded)
        let window = SessionPreset(.chat).windowByteCount(Limits())
        #expect(sentCount - 1 == window / ListenerStage.Peer.body(message).count)
        for _ in 1..<sentCount { #expect(stage.call(.receive(session), on: link) == .message(message)) }
    }

    // MARK: Frames of rooms

    @Test(arguments: [FrameType.accepted, .gap, .update])
    func `a frame of a relay -> protocolViolation`(type: FrameType) throws {
        let stage = ListenerStage()
        let (peer, _) = try stage.link()
        peer.open(.first)
        peer.say(type, on: .first)
        #expect(peer.farewell == .protocolViolation)
    }

    // Specs/hostile.md row 43
    @Test(arguments: [FrameType.transient, .receipt, .suspend, .cancel])
    func `frames of rooms without credit -> ignored, then controlFlood`(type: FrameType) throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        for number in 1...2000 where !peer.isClosed {
            peer.say(type, on: .first)
            if number == 10 {
                peer.message([7])
                #expect(stage.call(.receive(session), on: link) == .message([7]))
            }
        }
        #expect(peer.farewell == .controlFlood)
    }

    @Test func `requests -> ignored, and their credit returns`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        for _ in 0..<100 {
            peer.say(.request, [UInt8](repeating: 0, count: 10_000), on: .first)
            stage.run(for: .milliseconds(50))
        }
        peer.message([7])
        #expect(stage.call(.receive(session), on: link) == .message([7]))
        #expect(!peer.isClosed)
    }

    // C-71
    @Test func `a renewal of a credential that does not expire -> protocolViolation`() throws {
        let stage = ListenerStage()
        let (peer, _) = try stage.link()
        peer.say(Auth(credential: Credential("secret")))
        #expect(peer.farewell == .protocolViolation)
    }

    // MARK: Ends

    // Specs/hostile.md row 8
    @Test func `the end of the stream inside a message -> unexpectedEOF, and the link is resumed`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        let point = point(try #require(peer.log.last(Welcome.self)), [.control, .first])
        let frame = peer.maker.frame(.data, ListenerStage.Peer.body([1, 2, 3]), on: .first)
        peer.send(Array(frame.dropLast(2)))
        stage.engine.endOfStream(peer.key, now: stage.now)
        stage.settle()
        #expect(peer.farewell == .unexpectedEOF)
        let next = try #require(stage.connect())
        #expect(next.greet(resume: point)?.resumed != nil)
        next.send(frame)
        #expect(stage.call(.receive(session), on: link) == .message([1, 2, 3]))
    }

    // C-60
    @Test func `reads that all end inside a frame, of frames that are complete in time -> no frameTimeout`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        peer.acknowledge(1)
        var rest: [UInt8] = []
        for number in UInt8(1)...4 {
            let frame = peer.maker.frame(.data, ListenerStage.Peer.body([number]), on: .first)
            peer.send(rest + frame.prefix(20))
            rest = Array(frame.dropFirst(20))
            stage.run(for: .seconds(10))
        }
        #expect(!peer.isClosed)
        for number in UInt8(1)...3 { #expect(stage.call(.receive(session), on: link) == .message([number])) }
    }

    @Test func `a goaway of the client -> the link ends behind the messages that have arrived`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        peer.message([1])
        peer.say(GoAway(Notice(code: .none)))
        #expect(peer.isClosed)
        #expect(stage.call(.receive(session), on: link) == .message([1]))
        #expect(stage.call(.receive(session), on: link) == .failed(.linkEnded))
        #expect(stage.call(.accept, on: link) == .failed(.linkEnded))
    }

    // Specs/hostile.md row 20
    @Test func `a peer that reads nothing -> the sender waits, and the connection ends`() throws {
        let stage = ListenerStage()
        let (peer, link) = try stage.link()
        peer.open(.first)
        let session = try #require(stage.takeSession(link))
        peer.isReading = false
        let message = [UInt8](repeating: 1, count: 10_000)
        let calls = (0..<100).map { _ in stage.begin(.send(message, on: session), on: link) }
        let sentCount = calls.count { stage.results[$0] == .done }
        #expect((20...30).contains(sentCount))
        stage.run(for: .seconds(20))
        #expect(peer.isClosed)
        #expect(calls.count { stage.results[$0] == .done } == sentCount, "the link is suspended")
        stage.run(for: .seconds(301))
        #expect(calls.allSatisfy { stage.results[$0] == .done || stage.results[$0] == .failed(.linkEnded) })
    }

    @Test func `ended links that are not taken -> a bounded number is kept, the latest ones`() throws {
        let stage = ListenerStage()
        for _ in 0..<LinkListenerEngine.maxEndedLinkCount + 50 {
            let peer = try #require(stage.connect())
            peer.greet()
            peer.open(.first)
            peer.say(GoAway(Notice(code: .none)))
        }
        var count = 0
        while stage.takeLink() != nil { count += 1 }
        #expect(count == LinkListenerEngine.maxEndedLinkCount)
    }
}
