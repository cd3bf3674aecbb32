import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Roles at the engine: creation, operations, and their effects.
@Suite struct RoomRolesEngineTests {
    // MARK: Creation

    //
    @Test func `the first account in a room owns it, and the next one is a member`() throws {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        for (peer, role) in [(alice, RoomRole.owner), (bob, .member)] {
            #expect(peer.operate(.listRoles(after: nil)) == ErrorCode.none)
            let content = try #require(peer.log.last(Response.self)?.content)
            #expect(try RoomRoster(parsing: content).ownRole == role)
        }
        #expect(stage.roles?[.alice]?.role == .owner && stage.roles?.count == 1)
        #expect(stage.notes.first == "create by alice: none")
    }

    //
    @Test func `an account that may not create is reset with roomForbidden, and enters when the room exists`() {
        let stage = RolesStage()
        let policy = stage.relay.policy
        stage.relay.policy = { request in
            request.identity.account == .bob ? .granted([.publish, .request]) : policy(request)
        }
        #expect(stage.member("bob").resets == [.roomForbidden])
        #expect(stage.roles == nil)
        _ = stage.member("alice")
        let bob = stage.member("bob")
        #expect(bob.resets == [] && bob.log.last(Opened.self) != nil)
    }

    // R-57, Specs/hostile.md row 59
    @Test func `row 59, an account that has created as many rooms as it may is reset with tooManyRooms`() {
        let stage = RolesStage(maxRoomsPerAccount: 2)
        let alice = stage.member("alice")
        alice.open(.hall, on: SessionID(rawValue: 3))
        alice.open(.named("third"), on: SessionID(rawValue: 5))
        #expect(alice.resets == [.tooManyRooms])
        #expect(stage.relay.createdCounts[.alice] == 2)
        #expect(stage.notes.last == "create by alice: tooManyRooms")
        // A room that exists is entered, and another account creates the room.
        let bob = stage.member("bob", of: .named("third"))
        #expect(bob.log.last(Opened.self) != nil)
        alice.open(.named("third"), on: SessionID(rawValue: 7))
        #expect(alice.log.all(Opened.self).count == 3)
    }

    //
    @Test func `sessions that open a room while it is created join in their order, or create it in their turn`() {
        let stage = RolesStage(maxRoomsPerAccount: 0)
        stage.relay.storeDelay = .seconds(1)
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        bob.text("early", counter: 1)
        stage.stage.run(for: .seconds(2))
        #expect(alice.resets == [.tooManyRooms] && bob.resets == [])
        stage.stage.run(for: .seconds(1))
        #expect(bob.resets == [.tooManyRooms])

        let other = RolesStage()
        other.relay.storeDelay = .seconds(1)
        let owner = other.member("alice")
        let member = other.member("bob")
        member.text("early", counter: 1)
        other.stage.run(for: .seconds(1))
        #expect(owner.log.last(Opened.self) == nil && member.log.last(Opened.self) == nil)
        other.stage.run(for: .seconds(2))
        #expect(owner.log.last(Opened.self) != nil && member.log.last(Opened.self) != nil)
        #expect(other.relay.log[.lobby]?.map(\.sender) == [.bob])
    }

    @Test func `an owner that leaves while the room is created owns it all the same`() {
        let stage = RolesStage()
        stage.relay.storeDelay = .seconds(1)
        let alice = stage.member("alice")
        stage.stage.run(for: .milliseconds(1500))
        alice.say(Reset(session: .first, code: .cancelled))
        stage.stage.run(for: .seconds(2))
        #expect(stage.roles?[.alice]?.role == .owner)
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    //
    @Test func `a store that does not save the first roles resets the sessions with storeUnavailable`() {
        let stage = RolesStage()
        stage.relay.refusesAppends = true
        #expect(stage.member("alice").resets == [.storeUnavailable])
        stage.relay.refusesAppends = false
        #expect(stage.member("bob").log.last(Opened.self) != nil)
        #expect(stage.roles?[.bob]?.role == .owner)
    }

    //
    @Test func `a room with messages and without roles is open and has no owner`() {
        let stage = RolesStage()
        let entry = LogEntry(
            offset: 1, sender: .carol, device: DeviceID(rawValue: 9), counter: 1, acceptedAt: 1,
            body: EncodedBody(
                Message.encodeRelay(
                    offset: 1, acceptedAt: 1, sender: .carol, device: DeviceID(rawValue: 9),
                    clientBody: Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("old"))
                        .rawBytes)))
        stage.relay.store.append([entry], to: .lobby)
        let alice = stage.member("alice")
        #expect(alice.texts == ["old"])
        #expect(alice.operate(.setAccess(.closed)) == .forbidden)
        let root = stage.member("root")
        #expect(root.operate(.setRole(.owner, of: .alice)) == ErrorCode.none)
        #expect(alice.operate(.setAccess(.inviteOnly)) == ErrorCode.none)
    }

    //
    @Test func `roles that cannot be decoded reset sessions with storeUnavailable, and are noted`() {
        let stage = RolesStage()
        stage.relay.store.saveRoles([9], of: .lobby, nil)
        #expect(stage.member("alice").resets == [.storeUnavailable])
        #expect(stage.relay.notes.contains(.rolesInvalid(.lobby, .unknownVersion(9))))
        #expect(stage.relay.roles[.lobby] == [9])
    }

    // MARK: Kick and ban

    //
    @Test func `a kicked account is reset with kicked on all devices, others see it leave, and it may return`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let phone = stage.member("bob", device: 1)
        let desk = stage.member("bob", device: 2)
        #expect(alice.operate(.kick(.bob)) == ErrorCode.none)
        #expect(phone.resets == [.kicked] && desk.resets == [.kicked])
        #expect(alice.log.all(Transient.self).last == Transient(.presence(.left), sender: .bob))
        #expect(alice.operate(.kick(.bob)) == .noRecipient)
        phone.open(.lobby, on: SessionID(rawValue: 3))
        #expect(phone.log.all(Opened.self).count == 2)
    }

    // Specs/hostile.md row 59
    @Test func `row 59, a banned account is reset with roomForbidden, and enters on no device until the ban ends`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        #expect(alice.operate(.ban(.bob)) == ErrorCode.none)
        #expect(bob.resets == [.roomForbidden])
        #expect(!stage.relay.notes.contains { if case .roomRefused = $0 { true } else { false } })
        let second = stage.member("bob", device: 2)
        #expect(second.resets == [.roomForbidden])
        let who = DeviceKey(account: .bob, device: DeviceID(rawValue: 2))
        #expect(stage.relay.notes.last == .roomRefused(who, .lobby))
        #expect(alice.operate(.invite(.bob)) == .refused)
        #expect(alice.operate(.unban(.bob)) == ErrorCode.none)
        #expect(stage.member("bob", device: 2).log.last(Opened.self) != nil)
    }

    //
    @Test func `an account that was never in the room is banned, muted, invited and given a role`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let names = ["x", "y", "z"].map { AccountName.named($0) }
        #expect(alice.operate(.mute(names[0], seconds: 60)) == ErrorCode.none)
        #expect(alice.operate(.invite(names[1])) == ErrorCode.none)
        #expect(alice.operate(.ban(names[2])) == ErrorCode.none)
        #expect(alice.operate(.setRole(.reader, of: names[0])) == ErrorCode.none)
        #expect(stage.roles?.count == 4)
        #expect(stage.member("z").resets == [.roomForbidden])
    }

    //
    @Test func `requests with a missing field are answered with the code, and without a role with forbidden`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        alice.say(Request(correlation: 1, method: RoomMethod.kick.name, deadline: .seconds(9)), on: .first)
        #expect(alice.status(of: 1) == .missingField)
        let bob = stage.member("bob")
        for operation in [.kick(.alice), .ban(.alice), .setAccess(.open)] as [RoomOperation] {
            #expect(bob.operate(operation) == .forbidden)
        }
        #expect(alice.resets == [])
        #expect(stage.notes.last == "access  by bob: forbidden")
    }

    // R-56, Specs/hostile.md row 59
    @Test func `row 59, the relay's own account gets no role, ban or mute, so that the last owner cannot resign`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let server = AccountName.named("server")
        let refused: [RoomOperation] = [
            .setRole(.owner, of: server), .setRole(.reader, of: server), .invite(server), .ban(server),
            .mute(server, seconds: 60),
        ]
        for operation in refused { #expect(alice.operate(operation) == .refused) }
        #expect(alice.operate(.setRole(nil, of: .alice)) == .refused)
        #expect(stage.roles?.count == 1)
        for operation in [.unban(server), .unmute(server), .setRole(nil, of: server)] as [RoomOperation] {
            #expect(alice.operate(operation) == ErrorCode.none)
        }
    }

    // W-29, R-56
    @Test func `an unknown critical tag in the content -> invalidValue, and another unknown tag is ignored`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        var correlation: UInt64 = 0
        for (tag, status) in [(0x8ABC, .invalidValue), (0x4ABC, .none)] as [(UInt16, ErrorCode)] {
            var writer = TLVWriter()
            writer.append(Tag(rawValue: tag), bytes: [1])
            correlation += 1
            let content = (RoomOperation.ban(.bob).content ?? []) + writer.bytes
            alice.say(
                Request(
                    correlation: correlation, method: RoomMethod.ban.name, deadline: .seconds(9), content: content),
                on: .first)
            #expect(alice.status(of: correlation) == status)
        }
    }

    //
    @Test func `a moderator bans an administrator who is not here -> kept, and without effect while it administers`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        #expect(alice.operate(.ban(.named("root"))) == ErrorCode.none)
        let root = stage.member("root")
        #expect(root.resets == [])
        #expect(alice.operate(.ban(.named("root"))) == .forbidden)
    }

    //
    @Test func `a muted account's receipts and responses are processed as before`() {
        let stage = RolesStage()
        let (alice, bob) = (stage.member("alice"), stage.member("bob"))
        alice.text("one", counter: 1)
        #expect(alice.operate(.mute(.bob, seconds: 60)) == ErrorCode.none)
        bob.say(Receipt.progress(Receipt.Progress(.read, upTo: 1)), on: .first)
        #expect(
            alice.log.all(Receipt.self).contains {
                if case .progress(let progress) = $0 { progress.mark == .read && progress.upTo == 1 } else { false }
            })
        alice.say(
            Request(
                correlation: 7, method: MethodName("ask")!, deadline: .seconds(60), recipient: .bob, content: []),
            on: .first)
        guard let request = bob.log.last(Request.self) else {
            Issue.record("no request")
            return
        }
        bob.say(Response(correlation: request.correlation, status: .none), on: .first)
        #expect(alice.status(of: 7) == ErrorCode.none)
    }

    //
    @Test func `messages that are taken while a ban is saved -> delivered behind the response of the ban`() {
        let stage = RolesStage()
        let (alice, bob) = (stage.member("alice"), stage.member("bob"))
        stage.relay.storeDelay = .seconds(1)
        let request = alice.request(.ban(.bob))
        stage.stage.run(for: .milliseconds(500))
        bob.text("one", counter: 1)
        stage.stage.run(for: .milliseconds(600))
        #expect(alice.status(of: request) == ErrorCode.none && bob.resets == [.roomForbidden])
        #expect(alice.texts == [])
        stage.stage.run(for: .seconds(1))
        #expect(alice.texts == ["one"])
    }

    //
    @Test func `a relay without roles passes the requests to its request handler`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        #expect(alice.operate(.kick(.bob)) == .unknownMethod)
        #expect(stage.relay.requests.map(\.request.method) == [RoomMethod.kick.name])
    }

    // MARK: Mute and reader

    //
    @Test func `a muted account's messages and typing go nowhere until the mute ends`() {
        let stage = RolesStage()
        stage.stage.act { engine, _ in engine.wallClock = 1_000_000 }
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        bob.text("one", counter: 1)
        #expect(alice.operate(.mute(.bob, seconds: 10)) == ErrorCode.none)
        bob.text("two", counter: 2)
        bob.say(Transient(.typing(true)), on: .first)
        #expect(bob.refused == [2] && bob.accepted == [1])
        #expect(alice.texts == ["one"])
        #expect(!alice.log.all(Transient.self).contains { $0.content == .typing(true) })
        stage.stage.act { engine, _ in engine.wallClock = 1_009_999 }
        bob.text("three", counter: 3)
        stage.stage.act { engine, _ in engine.wallClock = 1_010_000 }
        bob.text("four", counter: 4)
        bob.say(Transient(.typing(true)), on: .first)
        #expect(bob.refused == [2, 3] && bob.accepted == [1, 4])
        #expect(alice.log.all(Transient.self).contains { $0.content == .typing(true) })
        #expect(bob.resets == [])
    }

    //
    @Test func `a reader receives messages and publishes none`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        #expect(alice.operate(.setRole(.reader, of: .bob)) == ErrorCode.none)
        bob.text("mine", counter: 1)
        alice.text("hers", counter: 1)
        #expect(bob.refused == [1] && bob.texts == ["hers"])
        #expect(alice.operate(.setRole(.member, of: .bob)) == ErrorCode.none)
        bob.text("mine", counter: 2)
        #expect(bob.accepted == [2])
    }

    //
    @Test func `a reader's request to a member is answered with forbidden`() {
        let stage = RolesStage()
        let (alice, bob) = (stage.member("alice"), stage.member("bob"))
        #expect(alice.operate(.setRole(.reader, of: .bob)) == ErrorCode.none)
        bob.say(
            Request(
                correlation: 7, method: MethodName("ask")!, deadline: .seconds(60), recipient: .named("alice"),
                content: []), on: .first)
        #expect(bob.status(of: 7) == .forbidden && alice.log.all(Request.self).isEmpty)
    }

    //
    @Test func `a message that was taken before the mute is accepted when it is published again`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        bob.text("one", counter: 1)
        #expect(alice.operate(.mute(.bob, seconds: 10)) == ErrorCode.none)
        bob.text("one", counter: 1)
        #expect(bob.accepted == [1, 1] && bob.refused == [])
    }

    //
    @Test func `a change takes effect when it is saved, and messages before it are stored`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        stage.relay.storeDelay = .seconds(1)
        bob.text("one", counter: 1)
        let request = alice.request(.mute(.bob, seconds: 60))
        bob.text("two", counter: 2)
        #expect(alice.status(of: request) == nil)
        // The store has the first message, then the roles, then the second message.
        stage.stage.run(for: .milliseconds(1500))
        bob.text("three", counter: 3)
        stage.stage.run(for: .milliseconds(600))
        #expect(alice.status(of: request) == ErrorCode.none)
        bob.text("four", counter: 4)
        #expect(bob.refused == [4])
        stage.stage.run(for: .seconds(2))
        #expect(bob.accepted == [1, 2, 3])
        #expect(alice.texts == ["one", "two", "three"])
    }

    // MARK: Access

    //
    @Test func `a room for invited accounts ends the sessions of others, and admits those who are invited`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        let carol = stage.member("carol")
        #expect(alice.operate(.invite(.bob)) == ErrorCode.none)
        #expect(alice.operate(.setAccess(.inviteOnly)) == ErrorCode.none)
        #expect(bob.resets == [] && carol.resets == [.roomForbidden])
        #expect(alice.operate(.setRole(nil, of: .bob)) == ErrorCode.none)
        #expect(bob.resets == [.roomForbidden])
        #expect(alice.operate(.invite(.carol)) == ErrorCode.none)
        #expect(stage.member("carol").log.last(Opened.self) != nil)
    }

    //
    @Test func `a closed room admits its owners, who open it again`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        let root = stage.member("root")
        #expect(alice.operate(.setRole(.moderator, of: .bob)) == ErrorCode.none)
        #expect(alice.operate(.setAccess(.closed)) == ErrorCode.none)
        #expect(alice.resets == [] && bob.resets == [.roomForbidden] && root.resets == [])
        #expect(stage.member("bob").resets == [.roomForbidden])
        #expect(alice.operate(.setAccess(.open)) == ErrorCode.none)
        #expect(stage.member("bob").log.last(Opened.self) != nil)
    }

    // MARK: Policy

    //
    @Test func `a policy that grants no publishing is not extended by a role`() {
        let stage = RolesStage()
        let policy = stage.relay.policy
        stage.relay.policy = { request in
            request.identity.account == .bob ? .granted([.request, .readHistory]) : policy(request)
        }
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        #expect(alice.operate(.setRole(.owner, of: .bob)) == ErrorCode.none)
        bob.text("mine", counter: 1)
        #expect(bob.refused == [1] && stage.relay.log[.lobby] == nil)
        #expect(bob.operate(.setAccess(.inviteOnly)) == ErrorCode.none)
    }

    //
    @Test func `administer is effective with the decision, and ends with it`() {
        let stage = RolesStage()
        _ = stage.member("alice")
        let root = stage.member("root")
        #expect(root.operate(.setAccess(.inviteOnly)) == ErrorCode.none)
        #expect(root.operate(.ban(.named("root"))) == .forbidden)
        #expect(root.operate(.ban(.alice)) == ErrorCode.none)
        stage.relay.policy = { _ in .granted(.all) }
        stage.stage.act { $0.revokeRoomDecisions(now: $1) }
        #expect(root.resets == [.roomForbidden])
    }
}
