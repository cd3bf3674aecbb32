import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Edits and deletions at a room: rights, and the erasure of deleted messages.
@Suite struct RoomErasureTests {
    private func reference(_ account: AccountName, _ counter: UInt64, at offset: UInt64? = nil) -> MessageReference {
        MessageReference(
            MessageID(sender: account, device: DeviceID(rawValue: 1), counter: counter), offset: offset)
    }

    /// The kinds of the messages that a member was sent, by offset.
    /// The kinds of messages by offset; `erased` also for erased changes.
    private func kinds(_ effects: [RoomScript.Effect], to name: String) -> [UInt64: ContentKind] {
        var kinds: [UInt64: ContentKind] = [:]
        for case .sent(name, .message(let message)) in effects {
            if let offset = message.relay?.offset { kinds[offset] = message.content.isErased ? .erased : message.kind }
        }
        return kinds
    }

    private func refusals(_ effects: [RoomScript.Effect], to name: String) -> [ErrorCode] {
        effects.compactMap {
            if case .sent(name, .receipt(.refused(let refusal))) = $0 { refusal.code } else { nil }
        }
    }

    private func withRoles(_ members: String...) -> RoomScript {
        var roles = RoomRoles(owner: .alice)
        if let changed = try? roles.applying(.setRole(.moderator, of: .bob), by: .owner, at: 0) { roles = changed }
        var script = RoomScript(snapshot: nil, roles: RoomRolesConfiguration())
        for member in members { script.join(member) }
        script.rooms.loaded(script.room, RoomSnapshot(roles: roles.encoded()))
        _ = script.drain()
        return script
    }

    //
    @Test func `a deleted message → erased in the store with the deletion, and sent without its content`() throws {
        var script = RoomScript("alice")
        script.fill("alice", 1...3)
        try script.post("alice", 4, .delete(reference(.alice, 2)))
        #expect(script.drain().contains(.append([4])))
        let erasure = MessageErasure(offset: 2, id: reference(.alice, 2).id)
        #expect(script.appendingErasures == [erasure])
        // Before the deletion is durable, the message is unchanged.
        script.join("bob")
        #expect(kinds(script.drain(), to: "bob") == [1: .text, 2: .text, 3: .text])
        script.store()
        _ = script.drain()
        script.join("carol")
        #expect(kinds(script.drain(), to: "carol") == [1: .text, 2: .erased, 3: .text, 4: .delete])
        #expect(script.log[1].counter == 2 && script.log[1].acceptedAt == 1002)
    }

    //
    @Test func `a deletion beside its target in one batch → the store never has the text`() throws {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1, byteCount: 300)
        try script.post("alice", 2, .delete(reference(.alice, 1)))
        let appends = script.drain()
        #expect(appends.contains(.append([1, 2])) && script.appendingErasures == [])
        script.store()
        #expect(kinds(script.drain(), to: "bob") == [1: .erased, 2: .delete])
        #expect(script.log.map { MessageView.kind(in: $0.body.rawBytes) } == [.erased, .delete])
        // The credit of both messages was returned.
        #expect(script.rooms.deadline == nil)
    }

    //
    @Test func `a deleted message that was edited → its edits are erased too, those of other messages are not`() throws
    {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...2)
        try script.post("alice", 3, .edit(of: reference(.alice, 1), text: "first"))
        try script.post("alice", 4, .edit(of: reference(.alice, 2), text: "other"))
        try script.post("bob", 1, .edit(of: reference(.alice, 1), text: "not counted"))
        _ = script.drain()
        script.store()
        _ = script.drain()
        try script.post("alice", 5, .edit(of: reference(.alice, 1), text: "second"))
        try script.post("alice", 6, .delete(reference(.alice, 1)))
        _ = script.drain()
        #expect(script.appendingErasures.map(\.offset) == [1])
        script.store()
        _ = script.drain()
        script.join("carol")
        let seen = kinds(script.drain(), to: "carol")
        #expect(seen == [1: .erased, 2: .text, 3: .erased, 4: .edit, 5: .edit, 6: .erased, 7: .delete])
    }

    //
    @Test func `a deletion that the store does not take → the message remains`() throws {
        var script = RoomScript("alice", "carol")
        script.fill("alice", 1...1)
        try script.post("alice", 2, .delete(reference(.alice, 1)))
        _ = script.drain()
        script.failStore()
        _ = script.drain()
        script.join("bob")
        #expect(kinds(script.drain(), to: "bob") == [1: .text])
    }

    // R-173, Specs/hostile.md row 101
    @Test func `without roles, a deletion by another account or with another identity → forwarded only`() throws {
        var script = RoomScript("alice", "bob", snapshot: RoomSnapshot(lastOffset: 9))
        script.fill("alice", 1...1)
        try script.post("bob", 1, .delete(reference(.alice, 1, at: 10)))
        try script.post("bob", 2, .delete(reference(.bob, 7, at: 10)))
        try script.post("bob", 3, .delete(reference(.bob, 7)))
        try script.post("bob", 4, .delete(reference(.bob, 7, at: 99)))
        let effects = script.drain()
        #expect(effects.contains(.append([11, 12, 13, 14])) && refusals(effects, to: "bob").isEmpty)
        script.store()
        _ = script.drain()
        script.join("carol", cursor: 9)
        let seen = kinds(script.drain(), to: "carol")
        #expect(seen[10] == .text && seen[11] == .delete && seen.count == 5)
    }

    //
    @Test func `a message that is not in memory → erased by the store at the offset of the reference`() throws {
        var script = RoomScript("alice", snapshot: RoomSnapshot(lastOffset: 9))
        try script.post("alice", 5, .delete(reference(.alice, 2, at: 7)))
        _ = script.drain()
        #expect(script.appendingErasures == [MessageErasure(offset: 7, id: reference(.alice, 2).id)])
        script.store()
        _ = script.drain()
        // The edits of the message are found without its offset.
        try script.post("alice", 6, .delete(reference(.alice, 3)))
        _ = script.drain()
        #expect(script.appendingErasures == [MessageErasure(offset: 0, id: reference(.alice, 3).id)])
    }

    // Specs/hostile.md row 101
    @Test func `with roles, an edit by another account → forbidden; a deletion by a moderator → erased`() throws {
        var script = withRoles("alice", "bob", "carol")
        script.fill("alice", 1...1)
        script.fill("carol", 1...2)
        try script.post("carol", 3, .edit(of: reference(.alice, 1), text: "other"))
        try script.post("carol", 4, .delete(reference(.alice, 1)))
        try script.post("carol", 5, .edit(of: reference(.carol, 1), text: "mine"))
        try script.post("carol", 6, .delete(reference(.carol, 1)))
        try script.post("bob", 1, .edit(of: reference(.carol, 2), text: "other"))
        try script.post("bob", 2, .delete(reference(.carol, 2)))
        // Alice is the owner.
        try script.post("bob", 3, .delete(reference(.alice, 1)))
        var effects = script.drain()
        #expect(refusals(effects, to: "carol") == [.forbidden, .forbidden])
        #expect(refusals(effects, to: "bob") == [.forbidden])
        script.store()
        effects = script.drain()
        #expect(effects.accepted(by: "carol").map(\.firstCounter) == [5])
        script.join("dave")
        let seen = kinds(script.drain(), to: "dave")
        #expect(seen == [1: .erased, 2: .erased, 3: .erased, 4: .erased, 5: .delete, 6: .delete, 7: .delete])
    }

    // M-1
    @Test(arguments: [false, true])
    func `a deletion with a damaged content, one with a wrong offset of a message that is not in memory → forwarded`(
        hasRoles: Bool
    ) throws {
        var script = hasRoles ? withRoles("alice") : RoomScript("alice")
        script.fill("alice", 1...2)
        let damaged = try MessageContent(kind: .delete, bytes: Message.textContent("encrypted"))
        script.post("alice", 3, damaged)
        try script.post("alice", 4, .delete(reference(.alice, 9, at: 2)))
        let effects = script.drain()
        #expect(effects.contains(.append([3, 4])) && refusals(effects, to: "alice").isEmpty)
        script.store()
        _ = script.drain()
        script.join("dave")
        #expect(kinds(script.drain(), to: "dave") == [1: .text, 2: .text, 3: .delete, 4: .delete])
    }

    //
    @Test func `a deletion that was taken, published again by a former moderator → accepted again`() throws {
        var script = withRoles("alice", "bob")
        script.fill("alice", 1...1)
        try script.post("bob", 1, .delete(reference(.alice, 1)))
        _ = script.drain()
        script.store()
        _ = script.drain()
        let operation = RoomOperation.setRole(nil, of: .bob)
        let now = script.now
        script.with("alice") {
            let request = Request(
                correlation: 1, method: operation.method.name, deadline: .seconds(9), content: operation.content)
            $0.receive(.request($1, request), now: now)
        }
        _ = script.drain()
        script.rooms.rolesSaved(script.room, .saved)
        _ = script.drain()
        try script.post("bob", 1, .delete(reference(.alice, 1)))
        try script.post("bob", 2, .delete(reference(.alice, 1)))
        let effects = script.drain()
        #expect(effects.accepted(by: "bob").map(\.firstCounter) == [1])
        #expect(refusals(effects, to: "bob") == [.forbidden])
    }

    //
    @Test func `members, one of them without a connection → the sessions of all check their queues, also for pages`()
        throws
    {
        var script = RoomScript("alice", "bob", "carol")
        script.with("bob") { $0.receive(.disconnected($1)) }
        script.fill("alice", 1...2)
        try script.post("alice", 3, .delete(reference(.alice, 1)))
        #expect(!script.drain().contains { if case .erased = $0 { true } else { false } })
        script.store()
        let effects = script.drain()
        let erasure = MessageErasure(offset: 1, id: reference(.alice, 1).id)
        #expect(effects.contains(.erased("bob", [erasure])) && effects.contains(.erased("carol", [erasure])))
    }

    /// A room with the messages 1 to 3 that are not in memory, from which bob requests a page and carol is sent
    /// messages.
    private func reading() -> RoomScript {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...3)
        script.rooms.trimTails(byteCount: .max)
        script.fill("alice", 4...30)
        script.rooms.trimTails(byteCount: .max)
        let request = Request(
            correlation: 1, method: HistoryQuery.method, deadline: .seconds(60),
            content: HistoryQuery(.after(0), limit: 3).content)
        let now = script.now
        script.with("bob") { $0.receive(.request($1, request), now: now) }
        script.join("carol")
        let effects = script.drain()
        #expect(effects.contains(.readHistory("bob", request: 1, 1...3)) && effects.contains(.read("carol", from: 1)))
        return script
    }

    //
    @Test func `reads that began before a deletion was durable and end afterwards → the replaced body`() throws {
        var script = reading()
        let earlier = Array(script.log[..<3])
        try script.post("alice", 31, .delete(reference(.alice, 2)))
        _ = script.drain()
        script.store()
        _ = script.drain()
        script.with("carol") { $0.read(ReadID(member: $1), earlier, first: 1) }
        #expect(kinds(script.drain(), to: "carol").filter { $0.key < 4 } == [1: .text, 2: .erased, 3: .text])
        script.with("bob") { $0.read(ReadID(member: $1, request: 1), earlier, first: 1) }
        let responses = script.drain().compactMap {
            if case .sent("bob", .response(let response)) = $0 { response } else { nil }
        }
        let page = try HistoryPage(
            parsing: try #require(responses.first).content, answering: HistoryQuery(.after(0), limit: 3))
        #expect(page.messages.map(\.kind) == [.text, .erased, .text])
    }

    // R-174, Specs/hostile.md row 100
    @Test func `more erasures during a read than are kept → the read fails`() throws {
        var script = reading()
        let earlier = Array(script.log[..<3])
        for start in stride(from: UInt64(0), to: 5 * 64, by: 64) {
            script.fill("alice", 1000 + 2 * start...1063 + 2 * start)
            for counter in 1000 + 2 * start...1063 + 2 * start {
                try script.post("alice", counter + 64, .delete(reference(.alice, counter)))
            }
            _ = script.drain()
            script.store()
            _ = script.drain()
        }
        script.with("carol") { $0.read(ReadID(member: $1), earlier, first: 1) }
        #expect(script.drain().contains(.reset("carol", .storeUnavailable)))
    }

    // R-174, Specs/hostile.md row 100
    @Test func `row 100, 65 deletions that wait for the store → the session is reset with serverBusy`() throws {
        var script = RoomScript("alice")
        script.fill("alice", 1...65)
        for number in UInt64(1)...65 { try script.post("alice", 100 + number, .delete(reference(.alice, number))) }
        #expect(script.drain().contains(.reset("alice", .serverBusy)))
        #expect(script.appendingErasures.count == Publication.maxErasureCount)
    }

    //
    @Test func `a deletion that the relay itself publishes → erased`() throws {
        var script = withRoles("alice")
        script.fill("alice", 1...1)
        let content = try MessageBody.delete(reference(.alice, 1)).content
        let actor = DeviceKey(account: .named("server"), device: DeviceID(rawValue: 1))
        script.rooms.receive(
            .command(RoomCommandCall(id: 1, room: script.room, command: .publish(content), actor: actor)))
        _ = script.drain()
        #expect(script.appendingErasures.map(\.offset) == [1])
    }
}
