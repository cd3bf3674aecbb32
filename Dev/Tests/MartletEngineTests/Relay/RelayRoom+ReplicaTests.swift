import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// A room whose store other relays use, too.
@Suite struct RoomReplicaTests {
    /// A message that another relay has stored.
    private func entry(
        _ offset: UInt64, _ name: String, _ counter: UInt64, _ content: MessageContent = MessageContent(text: "x")
    ) -> LogEntry {
        let who = RoomScript.who(name)
        let stamp = RelayStamp(offset: offset, acceptedAt: 2000 + offset, sender: who.account, device: who.device)
        let body = Message(counter: counter, content: content, relay: stamp).encode()
        return LogEntry(
            offset: offset, sender: who.account, device: who.device, counter: counter, acceptedAt: 2000 + offset,
            body: EncodedBody(body))
    }

    private func conflict(_ script: inout RoomScript, _ entries: [LogEntry], first: UInt64 = 1) {
        let history = RoomHistory(entries: entries, firstOffset: first)
        script.rooms.answered(.append(script.room, upTo: nil, messageCount: 0, .failure(.conflict(history))), at: 5000)
    }

    private func changed(_ script: inout RoomScript, log: LogID? = nil, end: UInt64, roles: UInt64 = 0) {
        script.rooms.changed(RoomRevision(room: script.room, log: log, lastOffset: end, rolesVersion: roles))
    }

    /// Answers the read of missed messages; nil fails.
    private func missed(_ script: inout RoomScript, _ entries: [LogEntry]?, first: UInt64 = 1) {
        let handle = MemberHandle(
            room: 0, slot: -1, key: MemberKey(link: LinkKey(slot: -1, generation: 0), session: .control))
        let result: Result<RoomHistory, RoomStoreError> =
            entries.map { .success(RoomHistory(entries: $0, firstOffset: first)) } ?? .failure(.unanswered)
        script.rooms.answered(.read(script.room, ReadID(member: handle), result), at: 5000)
    }

    private func loadedRoles(_ script: inout RoomScript, _ roles: RoomRoles, version: UInt64) {
        var snapshot = RoomSnapshot(roles: roles.encoded())
        snapshot.rolesVersion = version
        script.rooms.answered(.load(script.room, .success(snapshot)), at: 5000)
    }

    private func refusals(_ effects: [RoomScript.Effect], to name: String) -> [ErrorCode] {
        effects.compactMap {
            if case .sent(name, .receipt(.refused(let refusal))) = $0 { refusal.code } else { nil }
        }
    }

    private func withRoles(_ members: String...) -> RoomScript {
        var script = RoomScript(snapshot: nil, roles: RoomRolesConfiguration())
        for member in members { script.join(member) }
        var snapshot = RoomSnapshot(roles: RoomRoles(owner: .alice).encoded())
        snapshot.rolesVersion = 1
        script.rooms.loaded(script.room, snapshot)
        _ = script.drain()
        return script
    }

    // MARK: Conflicts

    //
    @Test func `another relay was first → its messages are delivered, and the own ones get the next offsets`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        script.post("alice", 2)
        #expect(script.drain() == [.append([1, 2])])
        script.post("bob", 1)
        #expect(script.drain().isEmpty)
        conflict(&script, [entry(1, "carol", 7), entry(2, "carol", 8)])
        let effects = script.drain()
        #expect(effects.offsets(to: "bob") == [1, 2] && effects.offsets(to: "alice") == [1, 2])
        #expect(effects.accepted(by: "alice").isEmpty && effects.contains(.append([3, 4, 5])))
        script.store()
        let stored = script.drain()
        #expect(stored.accepted(by: "alice") == [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 3)])
        #expect(stored.accepted(by: "bob") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 5)])
        #expect(stored.offsets(to: "bob") == [3, 4, 5])
        #expect(script.log.map(\.offset) == [3, 4, 5])
        // The stamps in the bodies have the offsets, too.
        #expect(script.log.map { (try? Message(parsing: $0.body.rawBytes))?.relay?.offset } == [3, 4, 5])
    }

    //
    @Test func `the log has more than a conflict brings → the next append conflicts, too`() {
        var script = RoomScript("alice")
        script.post("alice", 1)
        _ = script.drain()
        conflict(&script, [entry(1, "bob", 1)])
        #expect(script.drain().contains(.append([2])))
        conflict(&script, [entry(2, "bob", 2), entry(3, "bob", 3)])
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [2, 3] && effects.contains(.append([4])))
    }

    //
    @Test func `a waiting message is stored through another relay → accepted with that offset, and not stored again`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 4, byteCount: 10)
        script.post("alice", 5)
        _ = script.drain()
        conflict(&script, [entry(1, "alice", 4, MessageContent(text: String(repeating: "x", count: 10)))])
        let effects = script.drain()
        #expect(effects.contains(.released("alice", RoomScript.credit(10))))
        #expect(effects.accepted(by: "alice") == [AcceptedRun(firstCounter: 4, count: 1, firstOffset: 1)])
        #expect(effects.contains(.append([2])) && effects.offsets(to: "bob") == [1])
        script.store()
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 5, count: 1, firstOffset: 2)])
        script.post("alice", 4, byteCount: 10)
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 4, count: 1, firstOffset: 1)])
    }

    //
    @Test func `the counter of a waiting message has another content at another relay → it and later ones are refused`()
    {
        var script = RoomScript("alice")
        script.post("alice", 4)
        script.post("alice", 5)
        _ = script.drain()
        conflict(&script, [entry(1, "alice", 4, MessageContent(text: "another"))])
        let effects = script.drain()
        #expect(refusals(effects, to: "alice") == [.counterReused, .counterReused])
        #expect(!effects.contains(.append([2])))
        #expect(effects.count { if case .released("alice", _) = $0 { true } else { false } } == 2)
    }

    //
    @Test func `a counter is reused behind a waiting message → the waiting one is appended all the same`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1)
        script.post("alice", 4)
        #expect(script.drain() == [.append([2])])
        script.post("alice", 1, MessageContent(text: "another"))
        #expect(refusals(script.drain(), to: "alice") == [.counterReused])
        conflict(&script, [entry(2, "bob", 1)])
        let effects = script.drain()
        #expect(refusals(effects, to: "alice") == [] && effects.contains(.append([3])))
    }

    //
    @Test func `a waiting message that a later session has published, too, is refused → to the later session`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 4)
        _ = script.drain()
        script.with("alice") { $0.receive(.leave($1)) }
        script.join("alice")
        _ = script.drain()
        script.post("alice", 4)
        _ = script.drain()
        conflict(&script, [entry(1, "alice", 4, MessageContent(text: "another"))])
        #expect(refusals(script.drain(), to: "alice") == [.counterReused])
    }

    //
    @Test func `a counter far beyond that of a waiting message is stored → the waiting one is too old`() {
        var script = RoomScript("alice")
        script.post("alice", 4)
        _ = script.drain()
        conflict(&script, [entry(1, "alice", 3), entry(2, "alice", 400)])
        #expect(refusals(script.drain(), to: "alice") == [.counterTooOld])
    }

    //
    @Test func `the store has removed what came first → the sessions are reset, and the room is loaded again`() {
        for entries in [[], [entry(5, "bob", 1)]] {
            var script = RoomScript("alice")
            script.post("alice", 1)
            _ = script.drain()
            conflict(&script, entries, first: 5)
            #expect(script.drain().contains(.reset("alice", .storeUnavailable)) && script.rooms.count == 0)
        }
    }

    //
    @Test func `a closed session waits for its message under the later offset`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        _ = script.drain()
        script.with("alice") { $0.receive(.close($1)) }
        _ = script.drain()
        conflict(&script, [entry(1, "carol", 1), entry(2, "carol", 2)])
        #expect(!script.drain().contains(.closed("alice")))
        script.store()
        let effects = script.drain()
        #expect(effects.accepted(by: "alice") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 3)])
        #expect(effects.contains(.closed("alice")))
    }

    //
    @Test func `a message is published again by another session while it waits → that session is answered`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        _ = script.drain()
        script.with("alice") { $0.receive(.leave($1)) }
        script.join("alice/1")
        _ = script.drain()
        script.post("alice/1", 1)
        _ = script.drain()
        conflict(&script, [entry(1, "carol", 1)])
        _ = script.drain()
        script.store()
        #expect(script.drain().accepted(by: "alice/1") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 2)])
    }

    //
    @Test func `the store fails after a conflict → nothing is taken, and the next message has the next offset`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        _ = script.drain()
        conflict(&script, [entry(1, "carol", 1)])
        _ = script.drain()
        script.failStore()
        #expect(script.drain().contains(.reset("alice", .storeUnavailable)))
        script.post("bob", 1)
        #expect(script.drain() == [.append([2])])
    }

    //
    @Test func `a waiting deletion moves → its message is erased, not the one at the former offset`() throws {
        var script = RoomScript("alice")
        script.post("alice", 1)
        let id = MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: 1)
        try script.post("alice", 2, .delete(MessageReference(id)))
        _ = script.drain()
        conflict(&script, [entry(1, "bob", 1)])
        #expect(script.drain().contains(.append([2, 3])))
        script.store()
        _ = script.drain()
        #expect(script.log.first.map { (try? Message(parsing: $0.body.rawBytes))?.content.isErased } == true)
        script.join("carol")
        let kinds = script.drain().compactMap { effect -> ContentKind? in
            guard case .sent("carol", .message(let message)) = effect else { return nil }
            return message.content.isErased ? .erased : message.kind
        }
        #expect(kinds == [.text, .erased, .delete])
    }

    //
    @Test func `another relay deletes a message → the copy in memory has no content, and queues are erased`() throws {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...2)
        let id = MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: 1)
        let deletion = try MessageBody.delete(MessageReference(id, offset: 1)).content
        changed(&script, end: 3)
        _ = script.drain()
        missed(&script, [entry(3, "alice", 3, deletion)])
        #expect(script.drain().contains(.erased("bob", [MessageErasure(offset: 1, id: id)])))
        script.join("carol")
        #expect(
            script.drain().contains { effect in
                guard case .sent("carol", .message(let message)) = effect else { return false }
                return message.relay?.offset == 1 && message.content.isErased
            })
    }

    //
    @Test func `two relays announce at a time → the later announcement has the next counter of the device`() {
        var script = withRoles("alice")
        script.join("root", permissions: [.all, .administer])
        _ = script.drain()
        script.operate("root", .announce(MessageContent(text: "soon")), correlation: 1)
        #expect(script.drain().contains(.append([1])))
        conflict(&script, [entry(1, "server/0", 1)])
        #expect(script.drain().contains(.append([2])))
        script.store()
        #expect(script.log.map(\.counter) == [2])
        #expect(script.log.map { (try? Message(parsing: $0.body.rawBytes))?.counter } == [2])
        #expect(script.drain().contains { if case .noted(.roomOperation) = $0 { true } else { false } })
    }

    //
    @Test func `another relay has used the last counter of the device of announcements → the room is loaded again`() {
        var script = withRoles("alice")
        script.join("root", permissions: [.all, .administer])
        _ = script.drain()
        script.operate("root", .announce(MessageContent(text: "soon")), correlation: 1)
        _ = script.drain()
        conflict(&script, [entry(1, "server/0", .max)])
        #expect(script.drain().contains(.reset("alice", .storeUnavailable)) && script.rooms.count == 0)
    }

    // MARK: Missed messages

    //
    @Test func `the store has more messages → they are read and delivered once`() {
        var script = RoomScript("alice", "bob")
        changed(&script, end: 2)
        #expect(script.drain() == [.read("?", from: 1)])
        changed(&script, end: 3)
        #expect(script.drain().isEmpty)
        missed(&script, [entry(1, "carol", 1), entry(2, "carol", 2)])
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2] && effects.contains(.read("?", from: 3)))
        missed(&script, [entry(3, "carol", 3)])
        #expect(script.drain().offsets(to: "bob") == [3])
        changed(&script, end: 3)
        changed(&script, end: 1)
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `the store has more messages while it has an append → its answer brings them`() {
        var script = RoomScript("alice")
        script.post("alice", 1)
        _ = script.drain()
        changed(&script, end: 1)
        #expect(script.drain().isEmpty)
        conflict(&script, [entry(1, "bob", 1)])
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1] && effects.contains(.append([2])))
        #expect(!effects.contains(.read("?", from: 2)))
        // Here the own append was first.
        changed(&script, end: 3)
        _ = script.drain()
        script.store()
        #expect(script.drain().contains(.read("?", from: 3)))
    }

    //
    @Test func `a read ends while the store has an append → the append decides about the order`() {
        var script = RoomScript("alice")
        changed(&script, end: 1)
        _ = script.drain()
        script.post("alice", 1)
        #expect(script.drain() == [.append([1])])
        missed(&script, [entry(1, "bob", 1)])
        #expect(script.drain().offsets(to: "alice").isEmpty)
        conflict(&script, [entry(1, "bob", 1)])
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1] && effects.contains(.append([2])))
    }

    //
    @Test func `the last member leaves while missed messages are read → the room stays until the answer`() {
        var script = RoomScript("alice")
        changed(&script, end: 1)
        script.with("alice") { $0.receive(.leave($1)) }
        #expect(script.drain().contains(.read("?", from: 1)))
        #expect(script.rooms.count == 1)
        missed(&script, [entry(1, "bob", 1)])
        _ = script.drain()
        #expect(script.rooms.count == 0)
    }

    //
    @Test(arguments: [nil, 7]) func `a failed read, and a gap → the room is loaded again`(offset: UInt64?) {
        var script = RoomScript("alice")
        changed(&script, end: 9)
        _ = script.drain()
        missed(&script, offset.map { [entry($0, "bob", 1)] }, first: offset ?? 1)
        #expect(script.drain() == [.reset("alice", .storeUnavailable)] && script.rooms.count == 0)
    }

    //
    @Test func `a read finds fewer messages than the store has reported → the next one follows a report`() {
        var script = RoomScript("alice")
        changed(&script, end: 9)
        _ = script.drain()
        missed(&script, [])
        #expect(script.drain().isEmpty)
        changed(&script, end: 9)
        #expect(script.drain() == [.read("?", from: 1)])
    }

    //
    @Test func `the store has another log → the sessions are reset`() {
        var script = RoomScript("alice", snapshot: RoomSnapshot(log: LogID(rawValue: 1)))
        changed(&script, log: LogID(rawValue: 2), end: 0)
        #expect(script.drain() == [.reset("alice", .storeUnavailable)])
    }

    //
    @Test func `the store has another log, while a closed session has an acceptance → sent before the close`() {
        var script = RoomScript("alice", "bob", snapshot: RoomSnapshot(log: LogID(rawValue: 1)))
        script.post("alice", 1)
        _ = script.drain()
        script.with("alice") { $0.receive(.close($1)) }
        _ = script.drain()
        script.store()
        changed(&script, log: LogID(rawValue: 2), end: 0)
        let effects = script.drain()
        #expect(effects.accepted(by: "alice") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
        #expect(effects.contains(.closed("alice")) && effects.contains(.reset("bob", .storeUnavailable)))
    }

    //
    @Test func `a read of a log that was replaced → the sessions are reset, and no message of the other log is sent`() {
        var script = RoomScript("alice", snapshot: RoomSnapshot(log: LogID(rawValue: 1)))
        changed(&script, log: LogID(rawValue: 1), end: 2)
        _ = script.drain()
        let id = ReadID(
            member: MemberHandle(
                room: 0, slot: -1, key: MemberKey(link: LinkKey(slot: -1, generation: 0), session: .control)))
        script.rooms.answered(.read(script.room, id, .failure(.logLost)), at: 5000)
        #expect(script.drain() == [.reset("alice", .storeUnavailable)] && script.rooms.count == 0)
    }

    // MARK: Roles

    //
    @Test func `another relay has muted a publisher → its waiting message is refused, and others are appended`() throws
    {
        var script = withRoles("alice", "bob", "carol")
        script.post("bob", 1)
        script.post("carol", 1)
        #expect(script.drain() == [.append([1, 2])])
        let answer = StoreAnswer.append(script.room, upTo: nil, messageCount: 0, .failure(.rolesChanged))
        script.rooms.answered(answer, at: 5000)
        #expect(script.drain() == [.load("lobby")])
        script.post("alice", 1)
        #expect(script.drain().isEmpty)
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.bob, seconds: 600), by: .owner, at: 5000))
        loadedRoles(&script, roles, version: 2)
        let effects = script.drain()
        #expect(refusals(effects, to: "bob") == [.forbidden])
        #expect(effects.contains(.append([1, 2])))
        script.post("bob", 2)
        #expect(refusals(script.drain(), to: "bob") == [.forbidden])
    }

    //
    @Test func `a mute that ends while a message of its account waits → the message is refused all the same`() throws {
        var script = withRoles("alice", "bob")
        script.post("bob", 1)
        _ = script.drain()
        script.rooms.answered(
            .append(script.room, upTo: nil, messageCount: 0, .failure(.rolesChanged)), at: 5000)
        _ = script.drain()
        // From 0.9 s to 2.9 s. The message is of 1.001 s, and the roles are loaded at 5 s.
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.bob, seconds: 2), by: .owner, at: 900))
        loadedRoles(&script, roles, version: 2)
        #expect(refusals(script.drain(), to: "bob") == [.forbidden])
    }

    //
    @Test func `another relay has banned a member → its session is reset, and its waiting message is not stored`()
        throws
    {
        var script = withRoles("alice", "bob")
        script.post("bob", 1)
        _ = script.drain()
        changed(&script, end: 0, roles: 2)
        #expect(script.drain() == [.load("lobby")])
        let roles = try #require(try RoomRoles(owner: .alice).applying(.ban(.bob), by: .owner, at: 5000))
        // The append was admitted by the former roles.
        let answer = StoreAnswer.append(script.room, upTo: nil, messageCount: 0, .failure(.rolesChanged))
        script.rooms.answered(answer, at: 5000)
        #expect(script.drain().isEmpty)
        loadedRoles(&script, roles, version: 2)
        let effects = script.drain()
        #expect(effects.contains(.reset("bob", .roomForbidden)))
        #expect(!effects.contains { if case .append = $0 { true } else { false } })
    }

    //
    @Test func `two relays change roles at a time → the later operation is decided by the roles of the earlier one`()
        throws
    {
        var script = withRoles("alice", "bob")
        script.operate("alice", .ban(.bob), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.rooms.answered(.saveRoles(script.room, .failure(.rolesChanged)), at: 5000)
        #expect(script.drain() == [.load("lobby")])
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.carol, seconds: 600), by: .owner, at: 5000))
        loadedRoles(&script, roles, version: 2)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        #expect(script.savedRoles?[.bob]?.isBanned == true && script.savedRoles?[.carol]?.mutedUntil ?? 0 > 0)
        script.rooms.rolesSaved(script.room, .saved)
        #expect(script.drain().contains(.reset("bob", .roomForbidden)))
    }

    //
    @Test func `the store refuses roles, and has no later ones → the sessions are reset`() {
        var script = withRoles("alice")
        script.post("alice", 1)
        _ = script.drain()
        let answer = StoreAnswer.append(script.room, upTo: nil, messageCount: 0, .failure(.rolesChanged))
        script.rooms.answered(answer, at: 5000)
        _ = script.drain()
        loadedRoles(&script, RoomRoles(owner: .alice), version: 1)
        #expect(script.drain().contains(.reset("alice", .storeUnavailable)) && script.rooms.count == 0)
    }

    //
    @Test(arguments: [false, true])
    func `a change of this relay is reported before it is answered → in effect once`(isLoadedFirst: Bool) throws {
        var script = withRoles("alice", "bob")
        script.operate("alice", .mute(.bob, seconds: 600), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        let saved = script.savedRoles
        let roles = try #require(saved)
        changed(&script, end: 0, roles: 2)
        #expect(script.drain() == [.load("lobby")])
        if isLoadedFirst { loadedRoles(&script, roles, version: 2) }
        script.rooms.rolesSaved(script.room, .saved)
        if !isLoadedFirst { loadedRoles(&script, roles, version: 2) }
        #expect(script.rooms.rooms[0].rolesVersion == 2)
        script.post("bob", 1)
        script.post("alice", 1)
        let effects = script.drain()
        #expect(refusals(effects, to: "bob") == [.forbidden] && effects.contains(.append([1])))
    }

    //
    @Test func `later roles are loaded before the store refuses those of this relay → not loaded again`() throws {
        var script = withRoles("alice", "bob")
        script.operate("alice", .ban(.bob), correlation: 1)
        _ = script.drain()
        changed(&script, end: 0, roles: 2)
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.carol, seconds: 600), by: .owner, at: 5000))
        loadedRoles(&script, roles, version: 2)
        _ = script.drain()
        script.rooms.answered(.saveRoles(script.room, .failure(.rolesChanged)), at: 5000)
        let effects = script.drain()
        #expect(!effects.contains(.load("lobby")) && effects.contains(.saveRoles(isCreation: false)))
        #expect(script.savedRoles?[.bob]?.isBanned == true && script.savedRoles?[.carol]?.mutedUntil ?? 0 > 0)
    }

    //
    @Test func `another relay demotes a moderator whose deletion waits → the deletion is refused`() throws {
        var script = withRoles("alice", "bob")
        script.fill("alice", 1...1)
        let owners = try #require(
            try RoomRoles(owner: .alice).applying(.setRole(.moderator, of: .bob), by: .owner, at: 5000))
        changed(&script, end: 1, roles: 2)
        loadedRoles(&script, owners, version: 2)
        _ = script.drain()
        let target = MessageID(sender: .alice, device: RoomScript.who("alice").device, counter: 1)
        try script.post("bob", 1, .delete(MessageReference(target)))
        #expect(script.drain().contains(.append([2])))
        let answer = StoreAnswer.append(script.room, upTo: nil, messageCount: 0, .failure(.rolesChanged))
        script.rooms.answered(answer, at: 5000)
        _ = script.drain()
        loadedRoles(&script, RoomRoles(owner: .alice), version: 3)
        #expect(refusals(script.drain(), to: "bob") == [.forbidden])
    }

    //
    @Test func `another relay gives a room roles → a relay without roles does not serve it`() {
        var script = RoomScript("alice")
        changed(&script, end: 0, roles: 1)
        #expect(script.drain() == [.load("lobby")])
        loadedRoles(&script, RoomRoles(owner: .alice), version: 1)
        #expect(script.drain() == [.reset("alice", .storeUnavailable)] && script.rooms.count == 0)
    }

    //
    @Test func `the changed roles cannot be loaded → the sessions are reset`() {
        var script = withRoles("alice")
        changed(&script, end: 0, roles: 2)
        _ = script.drain()
        script.rooms.answered(.load(script.room, .failure(.unanswered)), at: 5000)
        #expect(script.drain().contains(.reset("alice", .storeUnavailable)) && script.rooms.count == 0)
    }

    // MARK: Checks

    //
    @Test func `a shared store → the rooms with members are compared once a second`() {
        var rooms = Rooms(isShared: true)
        let key = MemberKey(link: LinkKey(slot: 0, generation: 1), session: SessionID(rawValue: 1))
        rooms.receive(
            .join(JoinRequest(member: key, who: RoomScript.who("alice"), open: Open(room: .lobby, cursor: 0))))
        rooms.loaded(.lobby, RoomSnapshot(log: LogID(rawValue: 1), lastOffset: 4))
        var now = Instant(nanoseconds: 1_000_000_000)
        func questions(_ rooms: inout Rooms) -> [[RoomRevision]] {
            rooms.deadlinePassed(now: now)
            var found: [[RoomRevision]] = []
            while let effect = rooms.nextEffect(now: now) {
                if case .store(.changes(let since)) = effect { found.append(since) }
            }
            return found
        }
        let revision = RoomRevision(room: .lobby, log: LogID(rawValue: 1), lastOffset: 4)
        #expect(questions(&rooms) == [[revision]])
        now = now + .seconds(5)
        #expect(questions(&rooms).isEmpty)
        rooms.answered(.changes(.failure(.unanswered)), at: 0)
        #expect(questions(&rooms) == [[revision]])
        rooms.answered(.changes(.success([])), at: 0)
        now = now + .milliseconds(900)
        #expect(questions(&rooms).isEmpty && rooms.deadline == now + .milliseconds(100))
        now = now + .milliseconds(100)
        #expect(questions(&rooms) == [[revision]])
    }
}
