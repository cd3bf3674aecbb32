import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

@Suite
struct MembershipTests {
    //
    @Test("a room that an account joins is in its list, and not after the account leaves")
    func joinAndLeave() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        #expect(alice.rooms.isEmpty && alice.accountEvents == [.listed([])])
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(alice.rooms[.lobby]?.membership == .joined && alice.rooms[.lobby]?.inviter == nil)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(try stage.perform(.leave, alice) == ErrorCode.none)
        #expect(alice.rooms.isEmpty)
        #expect(stage.world.relay.memberships.isEmpty)
    }

    //
    @Test("a message in a joined room raises the last offset and the unread count of an account that has not opened it")
    func unread() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        let bob = stage.client("bob", list: false)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        let room = try stage.open(bob)
        try stage.world.send("hello", from: bob, in: room)
        stage.world.run(for: .seconds(2))
        let entry = try #require(alice.rooms[.lobby])
        #expect(entry.lastOffset == 1 && entry.unreadCount == 1)
        #expect(entry.lastMessage?.text == "hello" && entry.lastMessage?.relay?.sender == .bob)
        #expect(try stage.perform(.read(upTo: 1, log: nil), alice) == ErrorCode.none)
        #expect(alice.rooms[.lobby]?.unreadCount == 0 && alice.rooms[.lobby]?.read == 1)
    }

    //
    @Test("when the store has failed to read a changed room, the client lists its rooms again and has the change")
    func failedRead() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        let bob = stage.client("bob", list: false)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        let room = try stage.open(bob)
        stage.world.relay.refusesMemberships = true
        try stage.world.send("hello", from: bob, in: room)
        stage.world.run(for: .seconds(2))
        #expect(alice.rooms[.lobby]?.lastOffset == 0)
        stage.world.relay.refusesMemberships = false
        stage.world.run(for: .seconds(120))
        #expect(alice.rooms[.lobby]?.lastOffset == 1)
    }

    //
    @Test("what one device of an account reads is reported to the account's other device")
    func readElsewhere() throws {
        let stage = AccountStage()
        let alice = stage.client("alice", device: 1)
        let phone = stage.client("alice", device: 2)
        let bob = stage.client("bob", list: false)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(phone.rooms[.lobby] != nil)
        let his = try stage.open(bob)
        try stage.world.send("hello", from: bob, in: his)
        let hers = try stage.open(alice)
        stage.world.run(for: .seconds(2))
        #expect(phone.rooms[.lobby]?.unreadCount == 1)
        let cursor = RoomCursor(log: stage.world.store.logID(.lobby), offset: 1)
        stage.world.act(alice) { $0.markRead(hers, upTo: cursor, now: $1) }
        stage.world.run(for: .seconds(2))
        #expect(phone.rooms[.lobby]?.read == 1 && phone.rooms[.lobby]?.unreadCount == 0)
    }

    //
    @Test("a member invites an account, which joins or declines; an account that has not joined may not invite")
    func invitations() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        #expect(try stage.perform(.invite(.bob), alice) == .notJoined)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(try stage.perform(.invite(.bob), alice) == ErrorCode.none)
        #expect(bob.rooms[.lobby]?.membership == .invited)
        #expect(bob.rooms[.lobby]?.inviter == .alice)
        #expect(try stage.perform(.leave, bob) == ErrorCode.none)
        #expect(bob.rooms[.lobby]?.membership == .invited)
        #expect(try stage.perform(.decline, bob) == ErrorCode.none)
        #expect(bob.rooms.isEmpty)
        #expect(try stage.perform(.invite(.bob), alice) == ErrorCode.none)
        #expect(try stage.perform(.join, bob) == ErrorCode.none)
        #expect(bob.rooms[.lobby]?.membership == .joined)
        #expect(bob.rooms[.lobby]?.inviter == .alice)
    }

    //
    @Test("an account that has not joined a room may not raise its read offset there")
    func readWithoutRecord() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        #expect(try stage.perform(.read(upTo: 1, log: nil), alice) == .notJoined)
    }

    //
    @Test("an account that the policy refuses may leave and decline, and may not join")
    func policy() throws {
        var configuration = RelayConfiguration()
        configuration.asksRoomPolicy = true
        let stage = AccountStage(relay: configuration)
        let alice = stage.client("alice")
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        stage.world.relay.policy = { _ in .refused }
        #expect(try stage.perform(.join, alice, in: .hall) == .roomForbidden)
        #expect(try stage.perform(.leave, alice) == ErrorCode.none)
        stage.world.relay.policy = { _ in nil }
        #expect(try stage.perform(.join, alice) == .serverBusy)
        #expect(alice.rooms.isEmpty)
    }

    /// A relay with a room policy, alice, who has joined the room, and bob, who has opened it.
    private func stageWithPolicy() throws -> (AccountStage, alice: VirtualClient, bob: VirtualClient, RoomID) {
        var configuration = RelayConfiguration()
        configuration.asksRoomPolicy = true
        let stage = AccountStage(relay: configuration)
        let alice = stage.client("alice")
        let bob = stage.client("bob", list: false)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        return (stage, alice, bob, try stage.open(bob))
    }

    //
    @Test("the policy refuses the room, its history, or fails → the entry has no message, offsets and unread count")
    func entryWithoutPermission() throws {
        let (stage, alice, bob, room) = try stageWithPolicy()
        let decisions: [RoomDecision?] = [.refused, .granted([.publish, .request]), nil]
        for (index, decision) in decisions.enumerated() {
            stage.world.relay.policy = { $0.identity.account == .alice ? decision : .granted(.all) }
            stage.world.act { $0.revokeRoomDecisions(now: $1) }
            try stage.world.send("secret", from: bob, in: room)
            stage.world.run(for: .seconds(2))
            let entry = try #require(alice.rooms[.lobby])
            #expect(entry.membership == .joined && entry.lastOffset == 0 && entry.unreadCount == 0)
            #expect(entry.message == nil && entry.log == nil)
            // A page has the same entry as an update.
            let again = stage.client("alice", device: UInt64(100 + index))
            #expect(again.rooms[.lobby] == entry)
        }
        stage.world.relay.policy = { _ in .granted(.all) }
        stage.world.act { $0.revokeRoomDecisions(now: $1) }
        try stage.world.send("public", from: bob, in: room)
        stage.world.run(for: .seconds(2))
        #expect(alice.rooms[.lobby]?.lastOffset == 4 && alice.rooms[.lobby]?.lastMessage?.text == "public")
    }

    //
    @Test("a policy that exceeds its timeout for an entry → the entry has no message, and a later one has it")
    func overduePolicy() throws {
        let (stage, alice, bob, room) = try stageWithPolicy()
        stage.world.relay.policyDelay = .seconds(3600)
        try stage.world.send("secret", from: bob, in: room)
        stage.world.run(for: .seconds(60))
        let entry = try #require(alice.rooms[.lobby])
        #expect(entry.membership == .joined && entry.lastOffset == 0 && entry.message == nil)
        stage.world.relay.policyDelay = .zero
        try stage.world.send("public", from: bob, in: room)
        stage.world.run(for: .seconds(5))
        #expect(alice.rooms[.lobby]?.lastMessage?.text == "public")
    }

    //
    @Test("a policy that changes while it decides about an entry is asked again")
    func policyChangesMeanwhile() throws {
        let (stage, alice, bob, room) = try stageWithPolicy()
        stage.world.relay.policyDelay = .seconds(1)
        try stage.world.send("secret", from: bob, in: room)
        stage.world.run(for: .milliseconds(900))
        var count = 0
        // The answer to the first question is one of the earlier policy.
        stage.world.relay.policy = { request in
            guard request.identity.account == .alice else { return .granted(.all) }
            count += 1
            return count == 1 ? .granted(.all) : .refused
        }
        stage.world.act { $0.revokeRoomDecisions(now: $1) }
        stage.world.run(for: .seconds(5))
        #expect(count == 2 && alice.rooms[.lobby]?.message == nil)
        #expect(stage.world.relay.engine.quiescence().faults.isEmpty)
    }

    //
    @Test(
        "more rooms than a page holds are listed completely and in order, also from several loops", arguments: [1, 3])
    func pages(loopCount: Int) throws {
        let stage = AccountStage(loopCount: loopCount)
        let alice = stage.client("alice", list: false)
        let names = (0..<150).map { RoomName("room \($0)")! }
        for name in names {
            stage.world.relay.memberships[name] = [
                .alice: MembershipRecord(isJoined: true, changedAt: 1)
            ]
        }
        stage.world.act(alice) { $0.useAccount(list: true, now: $1) }
        stage.world.run(for: .seconds(5))
        guard case .listed(let entries)? = alice.accountEvents.last else {
            Issue.record("no list")
            return
        }
        #expect(entries.map(\.room) == names.sorted())
    }

    //
    @Test("after a restart of the relay the list is reported again, with what was missed")
    func restart() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        stage.world.relay.memberships[.hall] = [
            .alice: MembershipRecord(isJoined: false, changedAt: 5)
        ]
        stage.world.restartRelay(downFor: .seconds(1))
        stage.world.run(for: .seconds(30))
        #expect(alice.accountEvents.contains(.interrupted))
        #expect(alice.rooms[.hall]?.membership == .invited && alice.rooms[.lobby]?.membership == .joined)
    }

    //
    @Test("an account that lists rooms of other loops receives their changes")
    func loops() throws {
        let stage = AccountStage(loopCount: 4)
        let alice = stage.client("alice")
        let bob = stage.client("bob", list: false)
        for number in 0..<8 {
            let name = RoomName("room \(number)")!
            #expect(try stage.perform(.join, alice, in: name) == ErrorCode.none)
            let room = try stage.open(bob, name)
            try stage.world.send("hello", from: bob, in: room)
        }
        stage.world.run(for: .seconds(3))
        #expect(alice.rooms.count == 8 && alice.rooms.values.allSatisfy { $0.unreadCount == 1 })
    }

    //
    @Test("a page that follows an update has the progress that the store does not have yet", arguments: [1, 3])
    func pageBehindUpdate(loopCount: Int) throws {
        let stage = AccountStage(loopCount: loopCount)
        let alice = stage.client("alice", device: 1)
        let bob = stage.client("bob", list: false)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        let room = try stage.open(bob)
        for text in ["one", "two"] { try stage.world.send(text, from: bob, in: room) }
        stage.world.run(for: .seconds(2))
        let read = MembershipOperation.read(upTo: 1, log: nil)
        _ = try stage.world.act(alice) {
            try $0.accountRequest(
                read.method.name, content: read.content(of: .lobby), deadline: .seconds(30), now: $1)
        }
        stage.world.run(for: .seconds(1))
        #expect(alice.rooms[.lobby]?.read == 1 && alice.rooms[.lobby]?.unreadCount == 1)
        // The second device lists the rooms before the store has the progress.
        let phone = stage.client("alice", device: 2)
        guard case .listed(let entries)? = phone.accountEvents.first else {
            Issue.record("no list")
            return
        }
        #expect(entries.map(\.read) == [1] && entries.map(\.unreadCount) == [1])
    }

    //
    @Test("a relay without membership records does not offer the feature, and the client reports that")
    func unsupported() throws {
        let stage = AccountStage()
        let client = stage.world.addClient("alice", conditions: PathConditions(), carrier: .reliable) {
            $0.link.features = .supported
        }
        stage.world.act(client) { engine, now in
            engine.useAccount(list: true, now: now)
            engine.handle(.start, now: now)
        }
        stage.world.run(for: .seconds(3))
        #expect(client.accountEvents == [.unavailable(.unsupportedKind)])
        let number = try stage.world.act(client) {
            try $0.accountRequest(MembershipMethod.join.name, content: nil, deadline: .seconds(5), now: $1)
        }
        stage.world.run(for: .seconds(1))
        #expect(client.outcome(of: number) == .failed(.unsupportedKind))
    }

    //
    @Test("another request on the session is passed to the application, without a room")
    func applicationRequest() throws {
        let stage = AccountStage()
        let alice = stage.client("alice", list: false)
        #expect(try stage.request(MethodName("balance")!, nil, alice) == .unknownMethod)
        #expect(stage.world.relay.requests.map(\.request.method) == [MethodName("balance")!])
        #expect(stage.world.relay.requests.first?.request.sender == .alice)
    }

    //
    @Test("a request is answered with storeUnavailable when the store fails, and nothing has changed")
    func storeFailure() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        stage.world.relay.refusesMemberships = true
        #expect(try stage.perform(.join, alice) == .storeUnavailable)
        stage.world.relay.refusesMemberships = false
        #expect(alice.rooms.isEmpty && stage.world.relay.memberships.isEmpty)
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(alice.rooms[.lobby]?.membership == .joined)
    }

    //
    @Test("nothing remains at the relay when all requests are answered and all changes are reported")
    func quiescence() throws {
        let stage = AccountStage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        #expect(try stage.perform(.join, alice) == ErrorCode.none)
        #expect(try stage.perform(.invite(.bob), alice) == ErrorCode.none)
        let room = try stage.open(bob)
        for number in 1...50 { try stage.world.send("line \(number)", from: bob, in: room) }
        stage.world.run(for: .seconds(10))
        #expect(alice.rooms[.lobby]?.lastOffset == 50 && alice.rooms[.lobby]?.unreadCount == 50)
        #expect(stage.world.relay.engine.quiescence().faults.isEmpty)
    }
}

@Suite
struct MembershipRolesTests {
    private func stage() -> AccountStage {
        var configuration = RelayConfiguration()
        configuration.roomRoles = RoomRolesConfiguration()
        return AccountStage(relay: configuration)
    }

    private func operate(
        _ operation: RoomOperation, _ client: VirtualClient, in room: RoomID, _ stage: AccountStage
    ) throws -> ErrorCode? {
        let number = try stage.world.act(client) {
            try $0.request(operation.method.name, content: operation.content, in: room, deadline: .seconds(30), now: $1)
        }
        stage.world.run(for: .seconds(5))
        guard case .answered(let status, _, _, _) = client.outcome(of: number) else { return nil }
        return status
    }

    //
    @Test("with roles a moderator invites by its account's session: the account gets a role and a record")
    func invitation() throws {
        let stage = stage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        #expect(try stage.perform(.join, alice) == .roomForbidden)
        let room = try stage.open(alice)
        #expect(try operate(.setAccess(.inviteOnly), alice, in: room, stage) == ErrorCode.none)
        #expect(try stage.perform(.join, bob) == .roomForbidden)
        #expect(try stage.perform(.invite(.carol), bob) == .forbidden)
        #expect(try stage.perform(.invite(.bob), alice) == ErrorCode.none)
        #expect(bob.rooms[.lobby]?.membership == .invited && bob.rooms[.lobby]?.inviter == .alice)
        #expect(try stage.perform(.join, bob) == ErrorCode.none)
    }

    //
    @Test("room.invite invites; a ban and a kick remove the record, also of an account without a session")
    func banAndKick() throws {
        let stage = stage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        let room = try stage.open(alice)
        #expect(try operate(.invite(.bob), alice, in: room, stage) == ErrorCode.none)
        #expect(bob.rooms[.lobby]?.membership == .invited)
        #expect(try stage.perform(.join, bob) == ErrorCode.none)
        #expect(try operate(.kick(.bob), alice, in: room, stage) == ErrorCode.none)
        #expect(bob.rooms.isEmpty)
        #expect(try operate(.kick(.bob), alice, in: room, stage) == .noRecipient)
        #expect(try stage.perform(.join, bob) == ErrorCode.none)
        #expect(try operate(.ban(.bob), alice, in: room, stage) == ErrorCode.none)
        #expect(bob.rooms.isEmpty && stage.world.relay.memberships.isEmpty)
        #expect(try stage.perform(.join, bob) == .roomForbidden)
    }

    //
    @Test("an account that loses its access keeps its record, and its entry has no later messages")
    func entryWithoutAccess() throws {
        let stage = stage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        let room = try stage.open(alice)
        #expect(try stage.perform(.join, bob) == ErrorCode.none)
        try stage.world.send("public", from: alice, in: room)
        stage.world.run(for: .seconds(2))
        #expect(bob.rooms[.lobby]?.lastMessage?.text == "public")
        for access in [RoomAccess.inviteOnly, .closed] {
            #expect(try operate(.setAccess(access), alice, in: room, stage) == ErrorCode.none)
            try stage.world.send("secret", from: alice, in: room)
            stage.world.run(for: .seconds(2))
            let entry = try #require(bob.rooms[.lobby])
            #expect(entry.membership == .joined && entry.lastOffset == 0 && entry.message == nil)
        }
        #expect(try operate(.setAccess(.open), alice, in: room, stage) == ErrorCode.none)
        try stage.world.send("public again", from: alice, in: room)
        stage.world.run(for: .seconds(2))
        #expect(bob.rooms[.lobby]?.lastMessage?.text == "public again")
    }

    //
    @Test("a kick directly after an invitation removes the record that is not saved yet", arguments: [false, true])
    func kickAfterInvitation(isOfAccount: Bool) throws {
        let stage = stage()
        let alice = stage.client("alice")
        let bob = stage.client("bob")
        let room = try stage.open(alice)
        stage.world.relay.storeDelay = .milliseconds(100)
        func request(_ operation: RoomOperation) throws -> UInt64 {
            try stage.world.act(alice) {
                try $0.request(
                    operation.method.name, content: operation.content, in: room, deadline: .seconds(30), now: $1)
            }
        }
        let invitation = MembershipOperation.invite(.bob)
        let invited: UInt64
        if isOfAccount {
            invited = try stage.world.act(alice) {
                try $0.accountRequest(
                    invitation.method.name, content: invitation.content(of: .lobby), deadline: .seconds(30), now: $1)
            }
        } else {
            invited = try request(.invite(.bob))
        }
        let kicked = try request(.kick(.bob))
        stage.world.run(for: .seconds(5))
        for number in [invited, kicked] {
            guard case .answered(let status, _, _, _) = alice.outcome(of: number) else {
                Issue.record("request \(number) was not answered")
                continue
            }
            #expect(status == ErrorCode.none)
        }
        #expect(bob.rooms.isEmpty && stage.world.relay.memberships.isEmpty)
    }

    //
    @Test("a relay that loads a room removes the record of an account that is banned")
    func banBeforeCrash() throws {
        let stage = stage()
        let alice = stage.client("alice")
        let room = try stage.open(alice)
        #expect(try operate(.ban(.bob), alice, in: room, stage) == ErrorCode.none)
        stage.world.relay.memberships[.lobby] = [.bob: MembershipRecord(isJoined: true, changedAt: 1)]
        stage.world.restartRelay()
        stage.world.run(for: .seconds(40))
        #expect(stage.world.relay.memberships.isEmpty)
    }
}
