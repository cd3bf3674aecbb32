import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Commands of the relay's application to rooms.
@Suite struct RoomCommandTests {
    private static let server = DeviceKey(account: .named("server"), device: DeviceID(rawValue: 0))
    private static let text = MessageContent(text: "closing at ten")

    private static func result(_ id: UInt64, _ effects: [RoomScript.Effect]) -> RoomCommandResult? {
        effects.compactMap { if case .commandEnded(id, let result) = $0 { result } else { nil } }.last
    }

    private static func note(_ operation: RoomOperation, _ status: ErrorCode = .none) -> RoomScript.Effect {
        .noted(.roomOperation(RoomOperationRecord(operation, by: server, in: .lobby, status)))
    }

    // MARK: Messages

    //
    @Test func `publish in a room that is not in memory → loaded, stored, then the offset`() {
        var script = RoomScript(snapshot: nil)
        script.command(.publish(Self.text), 1)
        #expect(script.drain() == [.load("lobby")])
        script.rooms.loaded(.lobby, RoomSnapshot(lastOffset: 7))
        let storing = script.drain()
        #expect(storing.contains(.append([8])) && Self.result(1, storing) == nil)
        script.store()
        let effects = script.drain()
        #expect(Self.result(1, effects) == .success(.published(RoomCursor(offset: 8))))
        #expect(effects.contains(Self.note(.announce(Self.text))))
        #expect(script.rooms.count == 0)
    }

    //
    @Test func `two messages of the relay → delivered in their order with consecutive offsets`() {
        var script = RoomScript("alice")
        script.command(.publish(Self.text), 1)
        script.command(.publish(Self.text), 2)
        _ = script.drain()
        script.store()
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2])
        #expect(Self.result(1, effects) == .success(.published(RoomCursor(offset: 1))))
        #expect(Self.result(2, effects) == .success(.published(RoomCursor(offset: 2))))
    }

    //
    @Test func `a store that fails to append or to load, or has lost the log → storeUnavailable`() {
        var script = RoomScript("alice")
        script.command(.publish(Self.text), 1)
        _ = script.drain()
        script.failStore()
        let failed = script.drain()
        #expect(Self.result(1, failed) == .failure(.storeUnavailable))
        #expect(failed.contains(Self.note(.announce(Self.text), .storeUnavailable)))
        script.command(.publish(Self.text), 2)
        _ = script.drain()
        script.rooms.logLost(.lobby, answered: .append)
        #expect(Self.result(2, script.drain()) == .failure(.storeUnavailable))
        script.command(.close, 3)
        _ = script.drain()
        script.rooms.loaded(.lobby, nil)
        #expect(Self.result(3, script.drain()) == .failure(.storeUnavailable))
    }

    //
    @Test func `a content of more than 16 KiB → messageTooLarge, and nothing is stored`() {
        var script = RoomScript("alice")
        script.command(.publish(MessageContent(text: String(repeating: "x", count: 16_384))), 1)
        let effects = script.drain()
        #expect(Self.result(1, effects) == .failure(.messageTooLarge(limit: 16_384)))
        #expect(!effects.contains(.append([1])))
    }

    // MARK: Without roles

    //
    @Test func `remove without roles → the account's sessions are reset with kicked, others stay`() {
        var script = RoomScript("alice", "bob", "bob/2")
        script.command(.remove(.bob), 1)
        let effects = script.drain()
        for name in ["bob", "bob/2"] { #expect(effects.contains(.reset(name, .kicked))) }
        #expect(!effects.contains(.reset("alice", .kicked)))
        #expect(effects.contains(Self.note(.kick(.bob))) && Self.result(1, effects) == .success(.done))
    }

    //
    @Test func `remove of an account with a record → its result follows the save`() {
        for refused in [Set<AccountName>?.some([]), nil] {
            var snapshot = RoomSnapshot()
            snapshot.memberships = [.bob: MembershipRecord(isJoined: true, changedAt: 1)]
            var script = RoomScript("alice", snapshot: snapshot)
            script.command(.remove(.bob), 1)
            let saving = script.drain()
            #expect(saving.contains(.saveMemberships(["bob": .none])) && Self.result(1, saving) == nil)
            script.rooms.membershipsSaved(.lobby, refused: refused)
            let result = Self.result(1, script.drain())
            #expect(result == (refused == nil ? .failure(.storeUnavailable) : .success(.done)))
        }
    }

    //
    @Test func `remove of an account whose join the store refuses meanwhile → a result without another save`() {
        for refused in [Set<AccountName>?.some([.bob]), nil] {
            var script = RoomScript("alice")
            let key = MemberKey(link: LinkKey(slot: 9, generation: 1), session: SessionID(rawValue: 1))
            let join = MembershipCall(
                caller: key, number: 1, who: RoomScript.who("bob"), permissions: .all, room: .lobby,
                operation: .join)
            script.rooms.receive(.membership(join))
            #expect(script.drain().contains(.saveMemberships(["bob": .joined])))
            script.command(.remove(.bob), 1)
            #expect(Self.result(1, script.drain()) == nil)
            script.rooms.membershipsSaved(.lobby, refused: refused)
            #expect(Self.result(1, script.drain()) == .success(.done))
        }
    }

    //
    @Test func `close without roles → all sessions are reset with kicked`() {
        var script = RoomScript("alice", "bob")
        script.command(.close, 1)
        let effects = script.drain()
        for name in ["alice", "bob"] { #expect(effects.contains(.reset(name, .kicked))) }
        #expect(Self.result(1, effects) == .success(.done) && script.rooms.count == 0)
    }

    // MARK: With roles

    private func withRoles() throws -> RoomScript {
        var roles = RoomRoles(owner: .alice)
        roles = try #require(try roles.applying(.setRole(.moderator, of: .bob), by: .owner, at: 0))
        var script = RoomScript("alice", "bob", "carol", snapshot: nil, roles: RoomRolesConfiguration())
        script.rooms.loaded(.lobby, RoomSnapshot(roles: roles.encoded()))
        _ = script.drain()
        return script
    }

    //
    @Test func `remove with roles → the role is saved as removed, then the sessions end`() throws {
        var script = try withRoles()
        script.command(.remove(.bob), 1)
        let saving = script.drain()
        #expect(saving.contains(.saveRoles(isCreation: false)) && !saving.contains(.reset("bob", .kicked)))
        #expect(script.savedRoles?[.bob] == nil && script.savedRoles?[.alice]?.role == .owner)
        script.rooms.rolesSaved(.lobby, .saved)
        let effects = script.drain()
        #expect(effects.contains(.reset("bob", .kicked)) && Self.result(1, effects) == .success(.done))
        #expect(effects.contains(Self.note(.kick(.bob))))
    }

    //
    @Test func `remove with roles, of an account without a role, and of the only owner → performed`() throws {
        var script = try withRoles()
        script.command(.remove(.carol), 1)
        let effects = script.drain()
        #expect(effects.contains(.reset("carol", .kicked)) && Self.result(1, effects) == .success(.done))
        #expect(!effects.contains(.saveRoles(isCreation: false)))
        script.command(.remove(.alice), 2)
        _ = script.drain()
        script.rooms.rolesSaved(.lobby, .saved)
        #expect(Self.result(2, script.drain()) == .success(.done) && script.savedRoles?[.alice] == nil)
    }

    //
    @Test func `close with roles → accounts that are not owners are reset with roomForbidden after the save`() throws {
        var script = try withRoles()
        script.command(.close, 1)
        _ = script.drain()
        #expect(script.savedRoles?.access == .closed)
        script.rooms.rolesSaved(.lobby, .saved)
        let effects = script.drain()
        #expect(effects.contains(.reset("carol", .roomForbidden)) && !effects.contains(.reset("alice", .roomForbidden)))
        #expect(Self.result(1, effects) == .success(.done))
        script.command(.close, 2)
        #expect(Self.result(2, script.drain()) == .success(.done))
    }

    //
    @Test func `roles that are not saved → storeUnavailable, and the session stays`() throws {
        var script = try withRoles()
        script.command(.remove(.bob), 1)
        _ = script.drain()
        script.rooms.rolesSaved(.lobby, .failed)
        let effects = script.drain()
        #expect(Self.result(1, effects) == .failure(.storeUnavailable) && !effects.contains(.reset("bob", .kicked)))
    }

    //
    @Test func `a command to a room that no account has created → roomNotCreated`() {
        var script = RoomScript(snapshot: nil, roles: RoomRolesConfiguration())
        script.command(.publish(Self.text), 1)
        script.command(.remove(.bob), 2)
        _ = script.drain()
        script.rooms.loaded(.lobby, RoomSnapshot())
        let effects = script.drain()
        for id in [1, 2] as [UInt64] { #expect(Self.result(id, effects) == .failure(.roomNotCreated)) }
        #expect(script.rooms.count == 0)
    }

    //
    @Test func `a lost log ends a command that waits for the store with storeUnavailable`() throws {
        var script = try withRoles()
        script.post("alice", 1)
        _ = script.drain()
        script.command(.close, 1)
        #expect(Self.result(1, script.drain()) == nil)
        script.rooms.logLost(.lobby)
        #expect(Self.result(1, script.drain()) == .failure(.storeUnavailable))
    }

    // MARK: Bounds

    //
    @Test func `one more than 1,024 commands without a result → busy`() {
        var script = RoomScript(snapshot: nil)
        for id in 0...UInt64(RoomCommands.maxCount) { script.command(.close, id) }
        let effects = script.drain()
        #expect(Self.result(UInt64(RoomCommands.maxCount), effects) == .failure(.busy))
        #expect(effects.count == 2)
    }
}

extension RoomScript {
    fileprivate mutating func command(_ command: RoomCommand, _ id: UInt64) {
        let actor = DeviceKey(account: .named("server"), device: DeviceID(rawValue: 0))
        rooms.receive(.command(RoomCommandCall(id: id, room: .lobby, command: command, actor: actor)))
    }
}
