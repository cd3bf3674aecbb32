import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The order of operations, failures of the store, announcements, and bounds.
@Suite struct RoomOperationScenarioTests {
    // MARK: Order and failures

    //
    @Test func `a change that the store does not save is answered with storeUnavailable and has no effect`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        stage.relay.refusesAppends = true
        #expect(alice.operate(.ban(.bob)) == .storeUnavailable)
        stage.relay.refusesAppends = false
        #expect(bob.resets == [] && stage.roles?[.bob] == nil)
        bob.text("still here", counter: 1)
        #expect(bob.accepted == [1])
        #expect(stage.notes.last == "ban bob by alice: storeUnavailable")
        #expect(alice.operate(.ban(.bob)) == ErrorCode.none)
        #expect(bob.resets == [.roomForbidden])
    }

    //
    @Test func `operations are performed in their order, and each is decided by the roles before it`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let bob = stage.member("bob")
        #expect(alice.operate(.setRole(.moderator, of: .bob)) == ErrorCode.none)
        stage.relay.storeDelay = .seconds(1)
        let demotion = alice.request(.setRole(.member, of: .bob))
        let kick = bob.request(.kick(.carol))
        let ban = bob.request(.ban(.carol))
        stage.stage.run(for: .milliseconds(500))
        #expect(alice.status(of: demotion) == nil && bob.status(of: kick) == nil)
        stage.stage.run(for: .seconds(5))
        #expect(alice.status(of: demotion) == ErrorCode.none)
        #expect(bob.status(of: kick) == .forbidden && bob.status(of: ban) == .forbidden)
    }

    //
    @Test func `an operation is performed although its requester has left, cancelled it or waited too long`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let root = stage.member("root")
        stage.relay.storeDelay = .seconds(2)
        let ban = alice.request(.ban(.bob))
        alice.say(CancelRequest(correlation: ban), on: .first)
        let mute = root.request(.mute(.carol, seconds: 600), deadline: .seconds(1))
        root.request(.ban(.named("mallory")))
        stage.stage.run(for: .milliseconds(1500))
        #expect(root.status(of: mute) == .deadlineExceeded)
        root.say(Reset(session: .first, code: .cancelled))
        stage.stage.run(for: .seconds(10))
        #expect(alice.status(of: ban) == nil)
        #expect(stage.roles?[.bob]?.isBanned == true && stage.roles?[.named("mallory")]?.isBanned == true)
        #expect(stage.roles?[.carol]?.mutedUntil ?? 0 > 0)
    }

    //
    @Test func `the store has an append or roles of a room, and never both`() {
        var script = RoomScript("alice", "bob", snapshot: nil, roles: RoomRolesConfiguration())
        script.rooms.loaded(.lobby, RoomSnapshot())
        #expect(script.drain().contains(.saveRoles(isCreation: true)))
        script.rooms.rolesSaved(.lobby, .saved)
        _ = script.drain()
        script.post("bob", 1)
        #expect(script.drain().contains(.append([1])))
        script.operate("alice", .mute(.bob, seconds: 60), correlation: 1)
        script.post("bob", 2)
        let waiting = script.drain()
        #expect(!waiting.contains(.saveRoles(isCreation: false)) && !waiting.contains(.append([2])))
        script.store()
        let saving = script.drain()
        #expect(saving.contains(.saveRoles(isCreation: false)) && !saving.contains(.append([2])))
        script.post("bob", 3)
        #expect(!script.drain().contains(.append([2, 3])))
        script.rooms.rolesSaved(.lobby, .saved)
        // The messages before the change are taken.
        #expect(script.drain().contains(.append([2, 3])))
        #expect(script.savedRoles?[.bob]?.mutedUntil == 60_000)
    }

    //
    @Test func `row 58, messages and operations that wait alternate at the store`() {
        var script = RoomScript("alice", "bob", snapshot: nil, roles: RoomRolesConfiguration())
        script.rooms.loaded(.lobby, RoomSnapshot())
        script.rooms.rolesSaved(.lobby, .saved)
        _ = script.drain()
        script.operate("alice", .mute(.carol, seconds: 60), correlation: 1)
        script.operate("alice", .mute(.carol, seconds: 90), correlation: 2)
        script.post("bob", 1)
        #expect(!script.drain().contains(.append([1])))
        script.rooms.rolesSaved(.lobby, .saved)
        let storing = script.drain()
        #expect(storing.contains(.append([1])) && !storing.contains(.saveRoles(isCreation: false)))
        script.post("bob", 2)
        script.store()
        let saving = script.drain()
        #expect(saving.contains(.saveRoles(isCreation: false)) && !saving.contains(.append([2])))
    }

    //
    @Test func `a lost log ends the operations that wait, and the next session finds the roles`() {
        var script = RoomScript("alice", snapshot: nil, roles: RoomRolesConfiguration())
        let roles = RoomRoles(owner: .alice).encoded()
        script.rooms.loaded(.lobby, RoomSnapshot(roles: roles))
        _ = script.drain()
        script.post("alice", 1)
        _ = script.drain()
        script.operate("alice", .ban(.bob), correlation: 1)
        script.rooms.logLost(.lobby, answered: .append)
        #expect(script.drain().contains(.reset("alice", .storeUnavailable)))
        #expect(script.rooms.count == 0)
        script.join("bob")
        #expect(script.drain() == [.load("lobby")])
        script.rooms.loaded(.lobby, RoomSnapshot(roles: roles))
        #expect(script.drain().contains { if case .opened("bob", _, _, _) = $0 { true } else { false } })
    }

    // MARK: Announcements

    //
    @Test func `an announcement of an administrator is a message of the server, in the order of its counters`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let root = stage.member("root")
        for text in ["one", "two"] {
            #expect(root.operate(.announce(MessageContent(text: text))) == ErrorCode.none)
        }
        #expect(alice.operate(.announce(MessageContent(text: "mine"))) == .forbidden)
        let messages = alice.log.all(Message.self)
        #expect(messages.map(\.text) == ["one", "two"] && messages.map(\.counter) == [1, 2])
        #expect(messages.map(\.relay?.sender) == [.named("server"), .named("server")])
        #expect(root.texts == ["one", "two"] && root.accepted == [])
        #expect(stage.relay.log[.lobby]?.map(\.offset) == [1, 2])
        // The store's highest counter is continued after the room was loaded again.
        for peer in [alice, root] { peer.say(Close(), on: .first) }
        #expect(stage.relay.engine.statistics.rooms == 0)
        let again = stage.member("root", device: 2)
        #expect(again.operate(.announce(MessageContent(text: "three"))) == ErrorCode.none)
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2, 3])
    }

    //
    @Test func `an announcement is answered when it is durable, and with storeUnavailable when it is not`() {
        let stage = RolesStage()
        let root = stage.member("root")
        stage.relay.storeDelay = .seconds(1)
        let first = root.request(.announce(MessageContent(text: "one")))
        #expect(root.status(of: first) == nil)
        stage.stage.run(for: .seconds(1))
        #expect(root.status(of: first) == ErrorCode.none)
        stage.relay.refusesAppends = true
        let second = root.request(.announce(MessageContent(text: "two")))
        stage.stage.run(for: .seconds(1))
        #expect(root.status(of: second) == .storeUnavailable)
        #expect(stage.relay.log[.lobby]?.count == 1 && root.resets == [])
        stage.relay.refusesAppends = false
        let third = root.request(.announce(MessageContent(text: "three")))
        stage.stage.run(for: .seconds(1))
        #expect(root.status(of: third) == ErrorCode.none)
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2])
    }

    //
    @Test func `an announcement that is too long is answered with messageTooLarge`() {
        let stage = RolesStage()
        let root = stage.member("root")
        let most = RelayRoom.maxAnnouncementByteCount - TLVLimits.headByteCount
        #expect(root.operate(.announce(MessageContent(text: String(repeating: "x", count: most)))) == ErrorCode.none)
        let longer = MessageContent(text: String(repeating: "x", count: most + 1))
        #expect(root.operate(.announce(longer)) == .messageTooLarge)
    }

    // R-59, Specs/hostile.md row 59
    @Test func `row 59, a hello of the server's account is refused with forbidden`() {
        let stage = RolesStage()
        let peer = stage.member("server")
        #expect(peer.log.last(Reject.self)?.notice.code == .forbidden)
        #expect(stage.relay.notes.last == .link(.refused(.named("server"), .forbidden)))
        #expect(RelayStage().member("server", of: .lobby).log.last(Opened.self) != nil)
    }

    // MARK: Bounds

    // R-56, Specs/hostile.md row 58
    @Test func `row 58, operations beyond those that wait are answered with serverBusy`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        var peers = (0..<9).map { stage.member("peer\($0)") }
        for number in 0..<9 {
            #expect(alice.operate(.setRole(.owner, of: .named("peer\(number)"))) == ErrorCode.none)
        }
        stage.relay.storeDelay = .seconds(1)
        alice.request(.ban(.named("first")))
        // One change is saved, 64 operations wait.
        let last = peers.removeLast()
        var requests: [(peer: RawPeer, request: UInt64)] = []
        for peer in peers {
            for number in 0..<8 { requests.append((peer, peer.request(.ban(.named("a\(number)"))))) }
        }
        #expect(!requests.contains { $0.peer.status(of: $0.request) != nil })
        #expect(last.operate(.ban(.named("b"))) == .serverBusy)
        stage.stage.run(for: .seconds(59))
        #expect(requests.allSatisfy { $0.peer.status(of: $0.request) == ErrorCode.none })
        #expect(stage.roles?.count == 10 + 9)
    }

    //
    @Test func `a ninth operation of an account that waits is answered with tooManyRequests`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let root = stage.member("root")
        stage.relay.storeDelay = .seconds(1)
        let requests = (0..<10).map { alice.request(.ban(.named("a\($0)"))) }
        #expect(alice.status(of: requests[8]) == nil && alice.status(of: requests[9]) == .tooManyRequests)
        let other = root.request(.ban(.named("b")))
        #expect(root.status(of: other) == nil)
        stage.stage.run(for: .seconds(3))
        #expect(root.status(of: other) == ErrorCode.none && stage.roles?.count == 1 + 9 + 1)
    }

    // R-72, Specs/hostile.md row 66
    @Test func `row 66, operations beyond the rate of an account are answered with tooManyRequests`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let root = stage.member("root")
        let statuses = (0..<AccountTable.operationsBurst + 10).map { _ in alice.operate(.unban(.bob)) }
        #expect(statuses.first == ErrorCode.none && statuses.last == .tooManyRequests)
        #expect(alice.operate(.listRoles(after: nil)) == ErrorCode.none)
        #expect(root.operate(.unban(.bob)) == ErrorCode.none)
        stage.stage.run(for: .seconds(1))
        #expect(alice.operate(.unban(.bob)) == ErrorCode.none)
    }

    //
    @Test func `operations of a turn are saved together and answered together, also the refused ones`() {
        for result in [RolesResult.saved, .failed, .full] {
            var script = RoomScript("alice", "bob", snapshot: nil, roles: RoomRolesConfiguration())
            script.rooms.loaded(.lobby, RoomSnapshot(roles: RoomRoles(owner: .alice).encoded()))
            _ = script.drain()
            script.operate("alice", .invite(.carol), correlation: 1)
            script.operate("alice", .setRole(.reader, of: .alice), correlation: 2)
            script.operate("alice", .ban(.bob), correlation: 3)
            script.operate("alice", .unban(.bob), correlation: 4)
            let saving = script.drain()
            #expect(saving.count { $0 == .saveRoles(isCreation: false) } == 1)
            #expect(saving.count { $0 == .charged("alice", 1) } == 4)
            #expect(script.savedRoles?[.carol]?.role == .member && script.savedRoles?[.bob]?.isBanned == true)
            #expect(saving.statuses.isEmpty)
            script.rooms.rolesSaved(.lobby, result)
            let answers = script.drain()
            let status: ErrorCode = result == .saved ? .none : result == .full ? .refused : .storeUnavailable
            let second: ErrorCode = result == .saved ? .refused : status
            #expect(Array(answers.statuses.prefix(3)) == [status, second, status])
            #expect(answers.contains(.reset("bob", .roomForbidden)) == (result == .saved))
            // The second operation on an account belongs to the next change.
            #expect(answers.contains(.saveRoles(isCreation: false)) == (result == .saved))
        }
    }

    // R-72, Specs/hostile.md row 66
    @Test func `row 66, operations on long roles are saved every 100 ms, together`() throws {
        var script = RoomScript("alice", snapshot: nil, roles: RoomRolesConfiguration())
        script.rooms.loaded(.lobby, RoomSnapshot(roles: try RoomScript.longRoles().encoded()))
        _ = script.drain()
        script.operate("alice", .invite(.carol), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.rooms.rolesSaved(.lobby, .saved)
        _ = script.drain()
        for number in 2...5 as ClosedRange<UInt64> {
            script.operate("alice", .invite(.named("guest\(number)")), correlation: number)
            script.now = script.now + .milliseconds(20)
            #expect(!script.drain().contains(.saveRoles(isCreation: false)))
        }
        script.now = script.now + .milliseconds(20)
        #expect(script.rooms.deadline == script.now)
        script.rooms.deadlinePassed(now: script.now)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.rooms.rolesSaved(.lobby, .saved)
        #expect(script.drain().statuses == [.none, .none, .none, .none])
        #expect(script.savedRoles?[.named("guest5")]?.role == .member)
    }

    //
    @Test func `a creation with an unknown result → the next session loads the room, and finds its owner`() {
        var script = RoomScript("alice", snapshot: nil, roles: RoomRolesConfiguration())
        script.rooms.loaded(.lobby, RoomSnapshot())
        _ = script.drain()
        script.join("carol")
        script.rooms.rolesSaved(.lobby, .failed)
        script.join("bob")
        #expect(
            script.drain() == [
                .reset("alice", .storeUnavailable), .reset("carol", .storeUnavailable), .load("lobby"),
            ])
        script.rooms.loaded(.lobby, RoomSnapshot(roles: RoomRoles(owner: .alice).encoded()))
        let opened = script.drain()
        #expect(opened.contains { if case .opened("bob", _, _, _) = $0 { true } else { false } })
        #expect(!opened.contains(.saveRoles(isCreation: true)))
    }

    // R-50, Specs/hostile.md row 58
    @Test func `row 58, a connection's operations of a turn are limited by their work`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        stage.stage.readsOn = false
        var bytes: [UInt8] = []
        for number in 0..<20 {
            let operation = RoomOperation.ban(.named("a\(number)"))
            bytes += alice.maker.frame(
                Request(
                    correlation: UInt64(number), method: operation.method.name, deadline: .seconds(60),
                    content: operation.content), on: .first)
        }
        alice.send(bytes)
        #expect(stage.roles?.count == 1 + TurnBudget.unitCount / (TurnBudget.operationUnits + 1) + 1)
        #expect(alice.isPaused)
    }

    //
    @Test func `roles are listed in parts, which follow each other`() throws {
        let stage = RolesStage()
        let alice = stage.member("alice")
        for number in 0..<100 { #expect(alice.operate(.invite(.named("m\(1000 + number)"))) == ErrorCode.none) }
        var names: [String] = []
        var last: AccountName?
        var partCount = 0
        repeat {
            #expect(alice.operate(.listRoles(after: last)) == ErrorCode.none)
            let content = try #require(alice.log.last(Response.self)?.content)
            let roster = try RoomRoster(parsing: content)
            names += roster.standings.map(\.account.text)
            last = roster.isPartial ? roster.standings.last?.account : nil
            partCount += 1
        } while last != nil
        #expect(partCount == 2)
        #expect(names == ["alice"] + (0..<100).map { "m\(1000 + $0)" })
    }

    @Test func `nothing is left over when all operations are done`() {
        let stage = RolesStage()
        let alice = stage.member("alice")
        let root = stage.member("root")
        stage.relay.storeDelay = .seconds(1)
        alice.request(.ban(.bob))
        root.request(.announce(MessageContent(text: "one")))
        var faults: [String] { stage.relay.engine.quiescence().faults.filter { $0.hasPrefix("relay, room lobby: ") } }
        #expect(!faults.isEmpty)
        stage.stage.run(for: .seconds(3))
        #expect(faults.isEmpty)
        stage.relay.storeDelay = .zero
        for peer in [alice, root] { peer.say(Close(), on: .first) }
        #expect(stage.relay.engine.statistics.rooms == 0)
    }
}

extension RoomScript {
    /// A member requests an operation.
    mutating func operate(_ name: String, _ operation: RoomOperation, correlation: UInt64) {
        let request = Request(
            correlation: correlation, method: operation.method.name, deadline: .seconds(60), content: operation.content)
        with(name) { $0.receive(.request($1, request)) }
    }
}

extension [RoomScript.Effect] {
    /// The statuses of the responses.
    fileprivate var statuses: [ErrorCode] {
        compactMap { if case .sent(_, .response(let response)) = $0 { response.status } else { nil } }
    }
}
