import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Members of a room: devices, history, receipts, presence, requests.
@Suite struct MembersTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    // MARK: Devices

    @Test(arguments: carriers) func `a device receives its account's other devices' messages, its own only with echo`(
        carrier: Carrier
    ) throws {
        let world = VirtualWorld()
        let phone = world.addClient("alice", carrier: carrier)
        let laptop = world.addClient("alice", carrier: carrier)
        let onPhone = try world.open(.lobby, for: phone)
        let onLaptop = try world.open(.lobby, for: laptop, RoomOptions(includesOwnMessages: true))
        world.run(for: .seconds(1))
        try world.send("from the phone", from: phone, in: onPhone)
        try world.send("from the laptop", from: laptop, in: onLaptop)
        world.run(for: .seconds(1))
        #expect(phone.texts(in: onPhone) == ["from the laptop"])
        #expect(laptop.texts(in: onLaptop) == ["from the phone", "from the laptop"])
    }

    // C-39
    @Test func `a second client with the same device stops the first one`() throws {
        let world = VirtualWorld()
        let older = world.addClient("alice", device: 7)
        let newer = world.addClient("alice", device: 7)
        let room = try world.open(.lobby, for: older)
        world.run(for: .seconds(1))
        _ = try world.open(.lobby, for: newer)
        world.run(for: .seconds(1))
        #expect(older.engine.status.state == .stopped(.replaced))
        #expect(newer.engine.status.isOnline)
        // Its unsent messages are kept for a later start.
        try world.send("kept", from: older, in: room)
        world.run(for: .seconds(60))
        #expect(older.events(in: room).allSatisfy { if case .failed = $0 { false } else { true } })
    }

    // MARK: History

    //
    @Test func `history begins after the cursor or with the latest messages, whichever is later`() throws {
        let pair = try Pair()
        let lines = try pair.say(1...2000)
        #expect(pair.isAccepted(2000))
        func read(_ name: String, _ options: RoomOptions) throws -> [String] {
            let reader = pair.world.addClient(name)
            let room = try pair.world.open(.lobby, for: reader, options)
            pair.world.run(for: .seconds(10))
            return reader.texts(in: room)
        }
        #expect(try read("all", RoomOptions()) == lines)
        #expect(try read("cursor", RoomOptions(cursor: 1990)) == Array(lines.suffix(10)))
        #expect(try read("tail", RoomOptions(tail: 7)) == Array(lines.suffix(7)))
        #expect(try read("later", RoomOptions(cursor: 1998, tail: 7)) == Array(lines.suffix(2)))
        #expect(try read("none", RoomOptions(tail: 0)) == [])
    }

    @Test func `messages that the store has removed are reported as a gap`() throws {
        let pair = try Pair()
        let lines = try pair.say(1...2000)
        #expect(pair.isAccepted(2000))
        pair.world.store.trim(.lobby, before: 501)
        pair.world.restartRelay()
        let late = pair.world.addClient("late")
        let room = try pair.world.open(.lobby, for: late)
        pair.world.run(for: .seconds(20))
        #expect(late.events(in: room).contains(.gap(1...500)))
        #expect(late.texts(in: room) == Array(lines.suffix(1500)))
        guard case .opened(head: 2000, first: 501, _, _, _)? = late.events(in: room).first else {
            Issue.record("\(late.events(in: room).prefix(1))")
            return
        }
    }

    @Test func `an application that takes nothing receives a window, and the rest when it takes them`() throws {
        let pair = try Pair()
        pair.settle()
        pair.bob.takesMessages = false
        let filler = String(repeating: "x", count: 4000)
        for number in 1...200 {
            try pair.world.send("\(number) \(filler)", from: pair.alice, in: pair.hers)
            pair.world.run(for: .milliseconds(20))
        }
        #expect(pair.isAccepted(200))
        let given = pair.bob.received[pair.his]?.count ?? 0
        #expect((30...70).contains(given))
        // Only the application is slow, so the connection remains open.
        pair.world.run(for: .seconds(120))
        #expect(pair.bob.engine.status.reconnects == 0)
        pair.world.takeMessages(pair.bob)
        pair.world.run(for: .seconds(5))
        #expect(pair.bob.received[pair.his]?.count == 200)
    }

    @Test func `a suspended room receives its messages after resume, also over a cut`() throws {
        let pair = try Pair()
        pair.settle()
        pair.world.act(pair.bob) { $0.suspend(pair.his, now: $1) }
        pair.world.run(for: .seconds(1))
        let lines = try pair.say(1...50)
        #expect(pair.isAccepted(50))
        pair.world.run(for: .seconds(1))
        #expect(pair.bob.texts(in: pair.his).isEmpty)
        pair.world.cut(pair.bob)
        pair.world.run(for: .seconds(30))
        #expect(pair.bob.texts(in: pair.his).isEmpty)
        pair.world.act(pair.bob) { $0.resume(pair.his, now: $1) }
        pair.world.run(for: .seconds(1))
        #expect(pair.bob.texts(in: pair.his) == lines)
    }

    // MARK: Receipts

    private func progress(_ client: VirtualClient, _ room: RoomID, _ mark: Receipt.Mark) -> UInt64? {
        client.events(in: room).compactMap { event in
            if case .progress(let told) = event, told.mark == mark { told.upTo } else { nil }
        }.last
    }

    @Test(arguments: carriers) func `a sender receives delivered and read receipts, also after a cut and a restart`(
        carrier: Carrier
    ) throws {
        let pair = try Pair(carrier)
        pair.settle()
        try pair.say(1...3)
        pair.world.run(for: .seconds(1))
        #expect(progress(pair.alice, pair.hers, .delivered) == 3)
        #expect(progress(pair.alice, pair.hers, .read) == nil)
        pair.world.cut(pair.alice)
        pair.world.run(for: .milliseconds(100))
        pair.world.act(pair.bob) { $0.markRead(pair.his, upTo: 3, now: $1) }
        pair.world.run(for: .seconds(30))
        #expect(progress(pair.alice, pair.hers, .read) == 3)
        // After a restart of the relay the reader sends its receipts again.
        pair.world.restartRelay()
        pair.world.run(for: .seconds(60))
        let third = pair.world.addClient("alice", carrier: carrier)
        let room = try pair.world.open(.lobby, for: third)
        pair.world.run(for: .seconds(2))
        #expect(progress(third, room, .read) == 3)
    }

    // MARK: Presence

    @Test func `joining, typing, a lost connection and leaving of a member are reported in order`() throws {
        let pair = try Pair()
        pair.settle()
        let carol = pair.world.addClient("carol")
        let hers = try pair.world.open(.lobby, for: carol)
        pair.world.run(for: .seconds(1))
        guard case .opened(_, _, let members, _, _)? = carol.events(in: hers).first else {
            Issue.record("the room was not opened")
            return
        }
        #expect(Set(members) == [.alice, .bob, .carol])
        pair.world.act(carol) { $0.setTyping(true, in: hers, now: $1) }
        pair.world.run(for: .seconds(1))
        pair.world.blackHole(carol)
        pair.world.cut(carol)
        pair.world.run(for: .seconds(1))
        pair.world.restore(carol)
        pair.world.run(for: .seconds(20))
        pair.world.act(carol) { $0.close(hers, now: $1) }
        pair.world.run(for: .seconds(1))
        let seen = pair.alice.events(in: pair.hers).filter { event in
            switch event {
            case .presence(.carol, _), .typing(.carol, _): true
            default: false
            }
        }
        #expect(
            seen == [
                .presence(.carol, .online), .typing(.carol, true), .typing(.carol, false), .presence(.carol, .away),
                .presence(.carol, .online), .presence(.carol, .left),
            ])
    }

    // MARK: Requests

    private func ask(_ pair: Pair, to recipient: AccountName?, deadline: Duration = .seconds(10)) throws -> UInt64 {
        try pair.world.act(pair.alice) { engine, now in
            try engine.request(.locate, to: recipient, in: pair.hers, deadline: deadline, now: now)
        }
    }

    private func incoming(_ pair: Pair) -> [IncomingRequest] {
        pair.bob.events(in: pair.his).compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    @Test(arguments: carriers) func `a request to a member returns its response`(carrier: Carrier) throws {
        let pair = try Pair(carrier)
        pair.settle()
        let number = try ask(pair, to: .bob)
        pair.world.run(for: .milliseconds(500))
        let request = try #require(incoming(pair).first)
        #expect(request.sender == .alice)
        pair.world.act(pair.bob) { engine, now in
            engine.respond(to: request.id, in: pair.his, reason: "here", now: now)
        }
        pair.world.run(for: .milliseconds(500))
        #expect(pair.alice.outcome(of: number) == .answered(status: .none, reason: "here", content: nil))
    }

    //
    @Test func `requests to an absent member, the relay and a silent member → their errors`() throws {
        let pair = try Pair()
        pair.settle()
        let absent = try ask(pair, to: .carol)
        let server = try ask(pair, to: nil)
        let silent = try ask(pair, to: .bob, deadline: .seconds(2))
        pair.world.run(for: .seconds(3))
        #expect(pair.alice.outcome(of: absent) == .answered(status: .noRecipient, reason: nil, content: nil))
        #expect(pair.alice.outcome(of: server) == .answered(status: .unknownMethod, reason: nil, content: nil))
        #expect(pair.alice.outcome(of: silent) == .failed(.deadlineExceeded))
        pair.world.run(for: .seconds(1))
        // A late response has no effect.
        let request = try #require(incoming(pair).first)
        pair.world.act(pair.bob) { $0.respond(to: request.id, in: pair.his, now: $1) }
        pair.world.run(for: .seconds(1))
        #expect(pair.alice.outputs.count { if case .response = $0.output { true } else { false } } == 3)
    }

    @Test func `a cancelled request is cancelled at its recipient, one whose recipient leaves is answered`() throws {
        let pair = try Pair()
        pair.settle()
        let withdrawn = try ask(pair, to: .bob)
        let left = try ask(pair, to: .bob)
        pair.world.run(for: .milliseconds(500))
        pair.world.act(pair.alice) { $0.cancelRequest(withdrawn, now: $1) }
        pair.world.run(for: .milliseconds(500))
        let request = try #require(incoming(pair).first)
        #expect(pair.bob.events(in: pair.his).contains(.requestCancelled(request.id)))
        pair.world.act(pair.bob) { $0.close(pair.his, now: $1) }
        pair.world.run(for: .milliseconds(500))
        #expect(pair.alice.outcome(of: left) == .answered(status: .noRecipient, reason: nil, content: nil))
    }

    // S-57, R-41
    @Test(arguments: carriers) func `a request and its response survive cuts on both sides`(carrier: Carrier) throws {
        let pair = try Pair(carrier)
        pair.settle()
        pair.world.cut(pair.alice)
        pair.world.run(for: .milliseconds(60))
        let number = try ask(pair, to: .bob, deadline: .seconds(60))
        #expect(pair.world.run(until: pair.world.now + .seconds(20)) { !incoming(pair).isEmpty })
        pair.world.cut(pair.bob)
        pair.world.cut(pair.alice)
        pair.world.run(for: .milliseconds(60))
        let request = try #require(incoming(pair).first)
        pair.world.act(pair.bob) { $0.respond(to: request.id, in: pair.his, now: $1) }
        pair.world.run(for: .seconds(20))
        #expect(pair.alice.outcome(of: number) == .answered(status: .none, reason: nil, content: nil))
    }

    // MARK: Time to live

    @Test func `a message that is not sent within its time to live fails, and the next one is accepted`() throws {
        let pair = try Pair()
        pair.settle()
        pair.world.blackHole(pair.alice)
        pair.world.run(for: .seconds(60))
        try pair.world.send("stale", from: pair.alice, in: pair.hers, timeToLive: .seconds(5))
        try pair.world.send("good", from: pair.alice, in: pair.hers)
        pair.world.run(for: .seconds(10))
        pair.world.restore(pair.alice)
        #expect(pair.isAccepted(1))
        #expect(pair.alice.events(in: pair.hers).contains(.failed(counter: 1, .expired)))
        pair.world.run(for: .seconds(1))
        #expect(pair.bob.texts(in: pair.his) == ["good"])
    }

    // MARK: Credentials

    @Test func `a delayed credential → online, a failed one → another attempt, none → a timeout`() throws {
        let world = VirtualWorld()
        let slow = world.addClient("slow")
        slow.credentials = .gives(Credential("token"), after: .seconds(3))
        let failing = world.addClient("failing")
        failing.credentials = .fails(after: .milliseconds(100))
        let hanging = world.addClient("hanging")
        hanging.credentials = .hangs
        for client in [slow, failing, hanging] { world.act(client) { $0.handle(.start, now: $1) } }
        world.run(for: .seconds(4))
        #expect(slow.engine.status.isOnline)
        #expect(failing.states.count { if case .connecting = $0 { true } else { false } } > 1)
        #expect(hanging.engine.status.state == .handshaking)
        world.run(for: .seconds(7))
        #expect(hanging.engine.status.lastFailure == .unreachable)
        failing.credentials = .gives(nil)
        world.run(for: .seconds(40))
        #expect(failing.engine.status.isOnline)
    }
}
