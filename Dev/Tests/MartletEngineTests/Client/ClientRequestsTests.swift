import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Requests of a client, each with one outcome.
@Suite struct ClientRequestsTests {
    private func ask(_ stage: ClientStage, _ room: RoomID, deadline: Duration = .seconds(10)) throws -> UInt64 {
        try stage.act { engine, now in
            try engine.request(.locate, content: [], to: .bob, in: room, deadline: deadline, now: now)
        }
    }

    // W-68, W-69, S-54
    @Test func `a request is sent with its fields, and its first response is the outcome`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let number = try ask(stage, room)
        let request = try #require(stage.log.last(Request.self))
        #expect(request.method == .locate)
        #expect(request.recipient == .bob)
        #expect(request.correlation == number)
        #expect(request.deadline == .seconds(10))
        stage.say(Response(correlation: number, status: .none, reason: "here"), on: .first)
        let outcome = RequestOutcome.answered(status: .none, reason: "here", content: nil)
        #expect(stage.outputs.contains(.response(request: number, outcome)))
        // A second response and the deadline have no effect.
        stage.say(Response(correlation: number, status: .refused), on: .first)
        stage.run(for: .seconds(11))
        #expect(stage.outputs.count { if case .response = $0 { true } else { false } } == 1)
        #expect(stage.log.all(CancelRequest.self).isEmpty)
        #expect(stage.engine.rooms.requests.count == 0)
    }

    // S-55
    @Test func `an unanswered request → deadlineExceeded, and a cancel is sent`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let number = try ask(stage, room, deadline: .seconds(2))
        stage.acknowledge(2)
        stage.run(for: .seconds(2))
        #expect(stage.outputs.contains(.response(request: number, .failed(.deadlineExceeded))))
        #expect(stage.log.all(CancelRequest.self) == [CancelRequest(correlation: number)])
    }

    // S-56
    @Test func `a request cancelled twice → one outcome and one cancel`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let number = try ask(stage, room)
        stage.act { $0.cancelRequest(number, now: $1) }
        stage.act { $0.cancelRequest(number, now: $1) }
        #expect(stage.count(.response(request: number, .failed(.cancelled))) == 1)
        #expect(stage.log.all(CancelRequest.self).count == 1)
    }

    @Test func `requests before the first connection → sent after the welcome, or failed at their deadlines`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        let short = try ask(stage, room, deadline: .seconds(1))
        let first = try ask(stage, room, deadline: .seconds(10))
        let second = try ask(stage, room, deadline: .seconds(10))
        let cancelled = try ask(stage, room)
        stage.act { $0.cancelRequest(cancelled, now: $1) }
        stage.run(for: .seconds(2))
        #expect(stage.count(.response(request: short, .failed(.deadlineExceeded))) == 1)
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        // Before the welcome it is unknown whether the server has the feature (C-23).
        #expect(stage.log.all(Request.self).isEmpty)
        stage.welcome()
        let requests = stage.log.all(Request.self)
        #expect(requests.map(\.correlation) == [first, second])
        #expect(requests.map(\.deadline) == [.seconds(8), .seconds(8)])
        #expect(stage.log.all(CancelRequest.self).isEmpty)
    }

    @Test func `a request while reconnecting is sent behind the hello and answered on the resumed link`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.end()
        let number = try ask(stage, room, deadline: .seconds(60))
        stage.run(for: .seconds(13))
        stage.accept()
        #expect(stage.log.all(Request.self).map(\.correlation) == [number])
        stage.welcome(
            epoch: 2,
            resumed: [SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1)])
        stage.maker = FrameMaker()
        stage.say(.opened, Opened(head: 0, first: 1, members: []).encode(), on: .first, sequence: 1)
        stage.say(.response, Response(correlation: number).encode(), on: .first, sequence: 2)
        #expect(
            stage.outputs.contains(
                .response(request: number, .answered(status: .none, reason: nil, content: nil))))
    }

    // C-36, S-57
    @Test func `a reset or a refused resume fails sent requests, unsent ones follow on the next session`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let handed = try ask(stage, room, deadline: .seconds(60))
        stage.say(Reset(session: .first, code: .serverBusy))
        #expect(stage.outputs.contains(.response(request: handed, .failed(.serverBusy))))
        let waiting = try ask(stage, room, deadline: .seconds(60))
        stage.run(for: .seconds(2))
        let third = try ask(stage, room, deadline: .seconds(60))
        #expect(stage.log.all(Request.self).map(\.correlation) == [handed, waiting, third])
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(stage.outputs.contains(.response(request: waiting, .failed(.resumeRejected))))
        #expect(stage.outputs.contains(.response(request: third, .failed(.resumeRejected))))
        #expect(stage.log.all(CancelRequest.self).isEmpty)
    }

    // S-65, W-103
    @Test(arguments: [
        (ErrorCode.tooManyRequests, Duration.seconds(2), Duration?.some(.seconds(2))),
        (.tooManyRequests, .seconds(4_000_000), .seconds(3600)), (.none, .seconds(2), nil),
    ])
    func `a response with retryAfter -> the outcome names at most one hour, and nothing after success`(
        status: ErrorCode, given: Duration, reported: Duration?
    ) throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let number = try ask(stage, room)
        stage.say(Response(correlation: number, status: status, retryAfter: given), on: .first)
        let outcome = RequestOutcome.answered(status: status, reason: nil, content: nil, retryAfter: reported)
        #expect(stage.outputs.contains(.response(request: number, outcome)))
    }

    // S-57
    @Test func `the end of a room by either side fails its requests`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let byUs = try ask(stage, room)
        stage.act { $0.close(room, now: $1) }
        #expect(stage.outputs.contains(.response(request: byUs, .failed(.cancelled))))
        let other = try stage.act { engine, now in try engine.open(.hall, now: now) }
        let byServer = try ask(stage, other)
        stage.say(Reset(session: .second, code: .roomForbidden))
        #expect(stage.outputs.contains(.response(request: byServer, .failed(.roomForbidden))))
        #expect(throws: ClientError.noRoom) { _ = try ask(stage, other) }
    }

    @Test func `requests beyond the bounds of number, size and queue are refused`() throws {
        let stage = ClientStage { $0.maxRequests = 2 }
        let room = stage.goOnline(.lobby)
        _ = try ask(stage, room)
        _ = try ask(stage, room)
        #expect(throws: ClientError.tooManyRequests) { _ = try ask(stage, room) }
        stage.act { $0.cancelRequest(1, now: $1) }
        var writer = TLVWriter(reserving: 0)
        writer.append(.text, bytes: [UInt8](repeating: 0, count: 1 << 20))
        #expect(throws: ClientError.messageTooLarge) {
            try stage.act { engine, now in
                _ = try engine.request(.locate, content: writer.bytes, in: room, deadline: .seconds(1), now: now)
            }
        }
        stage.act { [content = writer.bytes] engine, now in
            engine.respond(to: .init(session: 1, correlation: 5), in: room, content: content, now: now)
        }
        #expect(stage.log.last(Response.self) == Response(correlation: 5, status: .messageTooLarge))
        stage.takesBytes = false
        while stage.engine.client.link.send(.receipt, EncodedBody([]), on: .first) == .queued {}
        #expect(throws: ClientError.queueFull) { _ = try ask(stage, room) }
    }

    @Test func `a member's request and its cancel are reported, and its response is sent`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.say(
            Request(
                correlation: 8, method: .locate, deadline: .seconds(3), recipient: .alice, sender: .bob, content: nil),
            on: .first)
        let incoming = IncomingRequest(
            id: .init(session: 1, correlation: 8), method: .locate, sender: .bob, content: nil, deadline: .seconds(3))
        #expect(stage.events(in: room).last == .request(incoming))
        stage.act { $0.respond(to: incoming.id, in: room, status: .refused, reason: "busy", now: $1) }
        #expect(stage.log.last(Response.self) == Response(correlation: 8, status: .refused, reason: "busy"))
        stage.say(CancelRequest(correlation: 8), on: .first)
        #expect(stage.events(in: room).last == .requestCancelled(incoming.id))
    }

    // S-57
    @Test func `a response to a request of an earlier link → not sent, although the relay has reused its number`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let request = Request(
            correlation: 1, method: .locate, deadline: .seconds(60), recipient: .alice, sender: .bob, content: nil)
        stage.say(request, on: .first)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        stage.welcome()
        stage.opened(.first, head: 0)
        stage.say(request, on: .first)
        let ids = stage.events(in: room).compactMap { if case .request(let request) = $0 { request.id } else { nil } }
        #expect(ids.map(\.correlation) == [1, 1])
        stage.act { $0.respond(to: ids[0], in: room, reason: "late", now: $1) }
        #expect(stage.log.all(Response.self).isEmpty)
        stage.act { $0.respond(to: ids[1], in: room, reason: "here", now: $1) }
        #expect(stage.log.all(Response.self) == [Response(correlation: 1, status: .none, reason: "here")])
    }

    // MARK: Requests of the server

    // S-58
    @Test func `a request on the control session → an error response, an empty one ends the connection`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let events = stage.events(in: room).count
        stage.say(Request(correlation: 1, method: .locate, deadline: .seconds(1)))
        stage.say(Request(correlation: 2, method: .locate, deadline: .seconds(1), recipient: .alice))
        var nameless = TLVWriter(reserving: 0)
        nameless.append(.correlation, uint64: 3)
        stage.say(.request, nameless.bytes)
        stage.say(Response(correlation: 9, status: .none))
        stage.say(CancelRequest(correlation: 9))
        let answers = stage.log.frames.filter { $0.type == .response && $0.header.session == .control }
        #expect(
            answers.compactMap { $0.parsed(Response.self) } == [
                Response(correlation: 1, status: .unknownMethod), Response(correlation: 2, status: .noRecipient),
                Response(correlation: 3, status: .missingField),
            ])
        #expect(stage.events(in: room).count == events)
        #expect(stage.engine.status.isOnline)
        stage.say(.request, [])
        #expect(stage.farewell == .missingField)
    }

    // S-58
    @Test func `a request without a method or a sender → missingField`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let events = stage.events(in: room).count
        var nameless = TLVWriter(reserving: 0)
        nameless.append(.correlation, uint64: 3)
        stage.say(.request, nameless.bytes, on: .first)
        stage.say(Request(correlation: 4, method: .locate, deadline: .seconds(1)), on: .first)
        #expect(
            stage.log.all(Response.self) == [
                Response(correlation: 3, status: .missingField), Response(correlation: 4, status: .missingField),
            ])
        #expect(stage.events(in: room).count == events)
        #expect(stage.engine.status.isOnline)
    }

    // MARK: Features

    // C-23
    @Test func `without the feature, requests of both sides → unknownMethod`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        let early = try ask(stage, room)
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(features: [.zlib, .receipts, .presence])
        stage.opened(.first)
        stage.acknowledge(1)
        let late = try ask(stage, room)
        let declined = RequestOutcome.answered(status: .unknownMethod, reason: nil, content: nil)
        #expect(stage.count(.response(request: early, declined)) == 1)
        #expect(stage.count(.response(request: late, declined)) == 1)
        stage.say(Request(correlation: 5, method: .locate, deadline: .seconds(1), sender: .bob), on: .first)
        #expect(stage.log.all(Response.self) == [Response(correlation: 5, status: .unknownMethod)])
        #expect(stage.log.all(Request.self).isEmpty)
        #expect(stage.log.all(CancelRequest.self).isEmpty)
    }

    // C-23
    @Test func `without the features, receipts, typing and presence are neither sent nor reported`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(features: [])
        stage.opened(.first)
        stage.acknowledge(1)
        let events = stage.events(in: room).count
        let kind = ContentKind(rawValue: 0xF000)
        stage.act { $0.setTyping(true, in: room, now: $1) }
        stage.act { $0.markRead(room, upTo: 5, now: $1) }
        stage.act { $0.sendTransient(kind, [], in: room, now: $1) }
        stage.run(for: .seconds(1))
        #expect(stage.log.all(Transient.self) == [Transient(.message(kind, []))])
        #expect(stage.log.all(Receipt.self).isEmpty)
        stage.say(Transient(.typing(true), sender: .bob), on: .first)
        stage.say(Transient(.presence(.away), sender: .bob), on: .first)
        stage.say(Receipt.progress(Receipt.Progress(.read, upTo: 1, sender: .bob)), on: .first)
        #expect(stage.events(in: room).count == events)
        stage.say(Transient(.message(kind, []), sender: .bob), on: .first)
        #expect(stage.events(in: room).last == .transient(.bob, kind, []))
    }
}
