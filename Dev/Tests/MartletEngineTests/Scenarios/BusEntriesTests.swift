import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Messages between the relays of a room, by scripts of items of the bus, reports and answers of the store.
@Suite struct BusEntriesTests {
    private static let two = RelayID(rawValue: 2)
    private static let log = LogID(rawValue: 1)

    /// A room with members at this relay, and bob at relay 2.
    private func room(_ members: String..., end: UInt64 = 0, roles: RoomRolesConfiguration? = nil) -> RoomScript {
        var script = RoomScript(snapshot: nil, roles: roles, busItemByteCount: 4096, isShared: true)
        script.rooms.busReceived(.incomplete(Self.two, before: 1), now: script.now)
        for member in members { script.join(member, cursor: end, log: Self.log) }
        var snapshot = RoomSnapshot(log: Self.log, lastOffset: end, firstOffset: 1)
        if roles != nil {
            snapshot.roles = RoomRoles(owner: .alice).encoded()
            snapshot.rolesVersion = 1
        }
        script.rooms.loaded(script.room, snapshot)
        _ = script.drain()
        let item = BusMembers(room: .lobby, count: 1, isWhole: true, entries: [BusMember(.bob, .online)])
        script.rooms.busReceived(.item(.members(item), from: Self.two, number: 5), now: script.now)
        _ = script.drain()
        return script
    }

    /// A message that another relay has stored.
    private func entry(
        _ offset: UInt64, _ name: String = "carol", _ counter: UInt64? = nil, stamp: UInt64? = nil,
        stampName: String? = nil, byteCount: Int = 1, content: MessageContent? = nil
    ) -> LogEntry {
        let (who, counter) = (RoomScript.who(name), counter ?? offset)
        let stamped = RoomScript.who(stampName ?? name)
        let stamp = RelayStamp(
            offset: stamp ?? offset, acceptedAt: 2000 + offset, sender: stamped.account, device: stamped.device)
        let content = content ?? MessageContent(text: String(repeating: "x", count: byteCount))
        return LogEntry(
            offset: offset, sender: who.account, device: who.device, counter: counter, acceptedAt: 2000 + offset,
            body: EncodedBody(Message(counter: counter, content: content, relay: stamp).encode()))
    }

    private func entries(_ offsets: ClosedRange<UInt64>) -> [LogEntry] { offsets.map { entry($0) } }

    private func receive(_ script: inout RoomScript, _ entries: [LogEntry], log: LogID = BusEntriesTests.log) {
        receive(&script, StoredBatch.encode(entries[...]), at: entries[0].offset, log: log)
    }

    private func receive(
        _ script: inout RoomScript, _ batch: [UInt8]?, at offset: UInt64, log: LogID = BusEntriesTests.log
    ) {
        let item = BusEntries(room: .lobby, log: log, offset: offset, batch: batch)
        script.rooms.busReceived(.item(.entries(item), from: Self.two, number: 9), now: script.now)
    }

    private func reported(_ script: inout RoomScript, end: UInt64, roles: UInt64 = 0) {
        script.rooms.changed(RoomRevision(room: .lobby, log: Self.log, lastOffset: end, rolesVersion: roles))
    }

    private func conflict(_ script: inout RoomScript, _ entries: [LogEntry]) {
        let history = RoomHistory(entries: entries, firstOffset: 1)
        script.rooms.answered(.append(.lobby, upTo: nil, messageCount: 0, .failure(.conflict(history))), at: 5000)
    }

    /// Answers the read of missed messages.
    private func missed(_ script: inout RoomScript, _ entries: [LogEntry]) {
        let handle = MemberHandle(
            room: 0, slot: -1, key: MemberKey(link: LinkKey(slot: -1, generation: 0), session: .control))
        let history = RoomHistory(entries: entries, firstOffset: 1)
        script.rooms.answered(.read(.lobby, ReadID(member: handle), .success(history)), at: 5000)
    }

    private func sent(_ effects: [RoomScript.Effect]) -> [BusEntries] {
        effects.compactMap { if case .bus(.entries(let entries), _) = $0 { entries } else { nil } }
    }

    private func hasRead(_ effects: [RoomScript.Effect]) -> Bool {
        effects.contains { if case .read("?", _) = $0 { true } else { false } }
    }

    /// The effects of the next 25 ms.
    private func later(_ script: inout RoomScript) -> [RoomScript.Effect] {
        script.now = script.now + .milliseconds(25)
        return script.drain()
    }

    private func counts(_ script: borrowing RoomScript) -> [UInt64] {
        [script.rooms.replicated.fromBus, script.rooms.replicated.fromStore]
    }

    // MARK: Sending

    //
    @Test func `stored messages, with members at another relay → sent as the store has them`() throws {
        var script = room("alice")
        script.post("alice", 1)
        script.post("alice", 2)
        #expect(sent(script.drain()).isEmpty)
        script.store()
        let items = sent(script.drain())
        #expect(items.map(\.offset) == [1] && items.map(\.log) == [Self.log])
        let batch = try #require(items.first?.batch)
        #expect(try StoredBatch.decode(batch, firstOffset: 1).map(\.body.bytes) == script.log.map(\.body.bytes))
    }

    //
    @Test func `stored messages without members at other relays, or without a bus → not sent`() {
        var script = RoomScript(
            "alice", snapshot: RoomSnapshot(log: Self.log), busItemByteCount: 4096)
        var other = RoomScript("alice", snapshot: RoomSnapshot(log: Self.log))
        script.post("alice", 1)
        other.post("alice", 1)
        _ = (script.drain(), other.drain())
        script.store()
        other.store()
        #expect(sent(script.drain()).isEmpty && sent(other.drain()).isEmpty)
    }

    //
    @Test func `a message and its deletion are stored together → sent without the content`() throws {
        var script = room("alice")
        script.post("alice", 1)
        let id = MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: 1)
        try script.post("alice", 2, .delete(MessageReference(id)))
        _ = script.drain()
        script.store()
        let batch = try #require(sent(script.drain()).first?.batch)
        let found = try StoredBatch.decode(batch, firstOffset: 1)
        let body = found[0].body
        let message = try Message(parsing: body.rawBytes)
        #expect(message.content.isErased && found.count == 2)
    }

    //
    @Test func `a deletion in front of its message → both are taken, and the message is delivered without content`()
        throws
    {
        var script = room("alice")
        let who = RoomScript.who("carol")
        let id = MessageID(sender: who.account, device: who.device, counter: 1)
        receive(&script, [entry(2, content: try MessageBody.delete(MessageReference(id, offset: 1)).content)])
        #expect(script.drain().isEmpty)
        receive(&script, [entry(1)])
        let kinds = script.drain().compactMap { effect -> ContentKind? in
            guard case .sent("alice", .message(let message)) = effect else { return nil }
            return message.content.isErased ? .erased : message.kind
        }
        #expect(kinds == [.erased, .delete])
    }

    //
    @Test(arguments: [3000, 4000, 40_000]) func `messages that fill a datagram, or exceed it → sent, or named only`(
        _ byteCount: Int
    ) {
        var script = room("alice")
        script.post("alice", 1, byteCount: byteCount)
        _ = script.drain()
        script.store()
        let items = sent(script.drain())
        #expect(items.map { $0.batch == nil } == [byteCount > 3000] && items[0].offset == 1)
        #expect(BusWriter.byteCount(of: BusMessage(.entries(items[0]), to: Self.two)) <= 4096)
    }

    //
    @Test func `stored messages that exceed a datagram together → sent in several items, in order`() {
        var script = room("alice")
        for counter in 1...40 { script.post("alice", UInt64(counter), byteCount: 300) }
        _ = script.drain()
        script.store()
        let items = sent(script.drain())
        let offsets = items.flatMap { item in
            item.batch.flatMap { try? StoredBatch.decode($0, firstOffset: item.offset).map(\.offset) } ?? []
        }
        #expect(items.count > 1 && offsets == Array(1...40))
        for item in items { #expect(BusWriter.byteCount(of: BusMessage(.entries(item), to: Self.two)) <= 4096) }
    }

    // MARK: The order of reports and items

    //
    @Test func `messages before the report of the store → delivered, and nothing is read`() {
        var script = room("alice")
        receive(&script, entries(1...2))
        #expect(script.drain().offsets(to: "alice") == [1, 2])
        reported(&script, end: 2)
        #expect(script.drain().isEmpty && later(&script).isEmpty)
        #expect(counts(script) == [1, 0])
        script.post("alice", 1)
        #expect(script.drain() == [.append([3])])
    }

    //
    @Test func `messages within 20 ms after the report → nothing is read`() {
        var script = room("alice")
        reported(&script, end: 2)
        #expect(script.drain().isEmpty)
        script.now = script.now + .milliseconds(19)
        receive(&script, entries(1...2))
        #expect(script.drain().offsets(to: "alice") == [1, 2])
        #expect(later(&script).isEmpty && counts(script) == [1, 0])
    }

    //
    @Test func `a report without messages → one read after 20 ms; without members at other relays → at once`() {
        var script = room("alice")
        reported(&script, end: 1)
        #expect(script.drain().isEmpty)
        script.now = script.now + .milliseconds(20)
        #expect(script.drain() == [.read("?", from: 1)] && later(&script).isEmpty)
        missed(&script, entries(1...1))
        #expect(script.drain().offsets(to: "alice") == [1] && counts(script) == [0, 1])
        script.rooms.busReceived(.lost(Self.two), now: script.now)
        reported(&script, end: 2)
        #expect(hasRead(script.drain()))
    }

    //
    @Test func `messages continue the copy but not to the reported end → the rest is awaited again`() {
        var script = room("alice")
        reported(&script, end: 2)
        _ = script.drain()
        script.now = script.now + .milliseconds(19)
        receive(&script, entries(1...1))
        _ = script.drain()
        script.now = script.now + .milliseconds(19)
        #expect(script.drain().isEmpty)
        #expect(later(&script) == [.read("?", from: 2)])
    }

    //
    @Test func `messages that are too long for the bus → read at once, before the report or after it`() {
        for isReportFirst in [true, false] {
            var script = room("alice")
            if isReportFirst { reported(&script, end: 2) }
            _ = script.drain()
            receive(&script, nil, at: 1)
            #expect(script.drain() == [.read("?", from: 1)])
            if !isReportFirst { reported(&script, end: 2) }
            missed(&script, entries(1...2))
            #expect(script.drain().offsets(to: "alice") == [1, 2] && later(&script).isEmpty)
            receive(&script, nil, at: 2)
            #expect(script.drain().isEmpty && later(&script).isEmpty)
        }
    }

    // MARK: Own appends

    //
    @Test func `messages while the store has an append that they precede → its answer decides, and nothing twice`() {
        var script = room("alice")
        script.post("alice", 1)
        #expect(script.drain() == [.append([1])])
        receive(&script, entries(1...2))
        reported(&script, end: 2)
        #expect(script.drain().isEmpty && later(&script).isEmpty)
        conflict(&script, entries(1...1))
        // The answer has the first message, the bus the second one.
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2] && effects.contains(.append([3])) && !hasRead(effects))
        script.store()
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 3)])
        #expect(counts(script) == [1, 1])
    }

    //
    @Test func `messages behind an own append arrive before its answer → taken after it`() {
        var script = room("alice")
        script.post("alice", 1)
        _ = script.drain()
        receive(&script, entries(2...3))
        #expect(script.drain().offsets(to: "alice").isEmpty && later(&script).isEmpty)
        script.store()
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2, 3] && !hasRead(effects) && later(&script).isEmpty)
    }

    //
    @Test func `the store fails an append behind which messages wait → taken, and the next append follows them`() {
        var script = room("alice", "dave")
        script.post("alice", 1)
        _ = script.drain()
        receive(&script, entries(1...1))
        _ = script.drain()
        script.failStore()
        #expect(script.drain().offsets(to: "dave") == [1])
        script.post("dave", 1)
        #expect(script.drain() == [.append([2])])
    }

    //
    @Test func `a message of this turn is stored through another relay → accepted there, and not stored again`() {
        var script = room("alice")
        script.post("alice", 4)
        receive(&script, [entry(1, "alice", 4)])
        let effects = script.drain()
        #expect(effects.accepted(by: "alice") == [AcceptedRun(firstCounter: 4, count: 1, firstOffset: 1)])
        #expect(!effects.contains { if case .append = $0 { true } else { false } })
    }

    //
    @Test func `messages while changed roles are loaded → delivered then; waiting messages are judged by the roles`()
        throws
    {
        var script = room("alice", "bob", roles: RoomRolesConfiguration())
        script.post("bob", 1)
        _ = script.drain()
        script.rooms.answered(.append(.lobby, upTo: nil, messageCount: 0, .failure(.rolesChanged)), at: 5000)
        #expect(script.drain() == [.load("lobby")])
        receive(&script, entries(1...1))
        #expect(script.drain().isEmpty)
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.bob, seconds: 600), by: .owner, at: 5000))
        var snapshot = RoomSnapshot(log: Self.log, roles: roles.encoded())
        snapshot.rolesVersion = 2
        script.rooms.answered(.load(.lobby, .success(snapshot)), at: 5000)
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1])
        let refusals = effects.compactMap {
            if case .sent("bob", .receipt(.refused(let refusal))) = $0 { refusal.code } else { nil }
        }
        #expect(refusals == [.forbidden])
    }

    // MARK: Forwarding

    /// The room after a refused append of message 1, which is stored at offset 2. Relay 2 has appended before and then.
    private func contended(roles: RoomRolesConfiguration? = nil) -> RoomScript {
        var script = room("alice", "dave", roles: roles)
        script.post("alice", 1)
        _ = script.drain()
        conflict(&script, entries(1...1))
        _ = script.drain()
        script.store()
        receive(&script, entries(3...3))
        _ = script.drain()
        return script
    }

    private func appends(_ effects: [RoomScript.Effect]) -> [[UInt64]] {
        effects.compactMap { if case .append(let offsets) = $0 { offsets } else { nil } }
    }

    private struct Forwarded: Equatable {
        let relay: RelayID?
        let sender: String?
        let counters: [UInt64]
        let after: UInt64
    }

    private func forwarded(_ effects: [RoomScript.Effect]) -> [Forwarded] {
        effects.compactMap {
            guard case .bus(.forwarded(let item, let counter), let relay) = $0 else { return nil }
            let entries = item.entries ?? []
            return Forwarded(
                relay: relay, sender: entries.first?.sender.text, counters: entries.map(\.counter), after: counter)
        }
    }

    /// Messages of relay 2 that this one is to append.
    private func forward(_ script: inout RoomScript, _ entries: [LogEntry], after counter: UInt64 = 0) {
        let item = BusEntries(
            room: .lobby, log: Self.log, offset: entries[0].offset, batch: StoredBatch.encode(entries[...]))
        script.rooms.busReceived(.item(.forwarded(item, after: counter), from: Self.two, number: 9), now: script.now)
    }

    //
    @Test func `after a refused append, messages → forwarded to the relay of the last append, once, not appended`() {
        var script = contended()
        script.post("alice", 2)
        script.post("alice", 5)
        script.post("dave", 1)
        var effects = script.drain()
        #expect(
            forwarded(effects) == [
                Forwarded(relay: Self.two, sender: "alice", counters: [2, 5], after: 1),
                Forwarded(relay: Self.two, sender: "dave", counters: [1], after: 0),
            ])
        #expect(appends(effects) == [])
        script.post("alice", 6)
        effects = script.drain()
        #expect(forwarded(effects) == [Forwarded(relay: Self.two, sender: "alice", counters: [6], after: 5)])
        #expect(appends(effects) == [])
    }

    //
    @Test func `a forwarded message is in the append of the other relay → accepted there, and no append`() {
        var script = contended()
        script.post("alice", 2)
        _ = script.drain()
        receive(&script, [entry(4, "alice", 2)])
        let effects = script.drain()
        #expect(effects.accepted(by: "alice") == [AcceptedRun(firstCounter: 2, count: 1, firstOffset: 4)])
        let isWaiting = script.rooms.rooms[0].forwardingDeadline != nil
        #expect(appends(effects) == [] && later(&script).isEmpty && !isWaiting)
    }

    //
    @Test func `more forwarded messages in turn than a window has runs, in one append → accepted at their offsets`() {
        var script = contended()
        let count = UInt64(2 * DeduplicationWindow.maxRuns)
        for counter in 1...count {
            script.post("alice", counter + 1)
            script.post("dave", counter)
        }
        _ = script.drain()
        var stored: [LogEntry] = []
        for number in 0..<count {
            stored.append(entry(4 + 2 * number, "alice", number + 2))
            stored.append(entry(5 + 2 * number, "dave", number + 1))
        }
        receive(&script, stored)
        let effects = script.drain()
        for name in ["alice", "dave"] {
            let offsets = stored.filter { $0.sender.text == name }.map(\.offset)
            #expect(effects.accepted(by: name).map(\.firstOffset) == offsets)
        }
        #expect(appends(effects) == [])
    }

    //
    @Test func `the append of the other relay has some forwarded messages → the others wait, and are not sent again`() {
        var script = contended()
        for counter in 2...4 { script.post("alice", UInt64(counter)) }
        _ = script.drain()
        receive(&script, [entry(4, "alice", 2), entry(5)])
        var effects = script.drain()
        #expect(effects.offsets(to: "dave") == [4, 5] && appends(effects) == [] && forwarded(effects) == [])
        script.post("alice", 5)
        effects = script.drain()
        #expect(forwarded(effects) == [Forwarded(relay: Self.two, sender: "alice", counters: [5], after: 4)])
    }

    // R-230, Specs/hostile.md row 132
    @Test func `forwarded messages that are not stored within 100 ms → appended`() {
        var script = contended()
        script.post("alice", 2)
        _ = script.drain()
        script.now = script.now + .milliseconds(99)
        script.post("alice", 3)
        #expect(appends(script.drain()) == [])
        script.now = script.now + .milliseconds(1)
        #expect(appends(script.drain()) == [[4, 5]])
        script.store()
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 2, count: 2, firstOffset: 4)])
        script.post("alice", 4)
        #expect(appends(script.drain()) == [[6]])
    }

    //
    @Test func `forwarded messages, and the relay of the last append is away → appended`() {
        var script = contended()
        script.post("alice", 2)
        _ = script.drain()
        script.rooms.busReceived(.lost(Self.two), now: script.now)
        #expect(appends(script.drain()) == [[4]])
    }

    //
    @Test func `forwarded messages, and an item names messages that it does not have → they are read`() {
        var script = contended()
        script.post("alice", 2)
        _ = script.drain()
        receive(&script, nil, at: 5)
        let effects = script.drain()
        #expect(hasRead(effects) && appends(effects) == [])
        missed(&script, [entry(4), entry(5, "alice", 2)])
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 2, count: 1, firstOffset: 5)])
    }

    //
    @Test func `a session closes with a forwarded message → it ends when the message is accepted`() {
        var script = contended()
        script.post("alice", 2)
        script.with("alice") { $0.receive(.close($1)) }
        #expect(!script.drain().contains(.closed("alice")))
        receive(&script, [entry(4, "alice", 2)])
        #expect(script.drain().contains(.closed("alice")))
    }

    //
    @Test func `one of the waiting messages fits into no item → appended`() {
        var script = contended()
        script.post("alice", 2, byteCount: 5000)
        let effects = script.drain()
        #expect(appends(effects) == [[4]])
        // An item without messages asks the other relay for time.
        #expect(forwarded(effects) == [Forwarded(relay: Self.two, sender: nil, counters: [], after: 0)])
    }

    //
    @Test func `a different relay asks for time → the next append but one begins after 5 ms`() {
        var script = room("alice")
        let item = BusEntries(room: .lobby, log: Self.log, offset: 1, batch: nil)
        script.rooms.busReceived(.item(.forwarded(item, after: 0), from: Self.two, number: 9), now: script.now)
        script.post("alice", 1)
        #expect(appends(script.drain()) == [[1]])
        script.store()
        _ = script.drain()
        script.post("alice", 2)
        #expect(appends(script.drain()) == [])
        script.now = script.now + .milliseconds(5)
        #expect(appends(script.drain()) == [[2]])
    }

    //
    @Test func `more waiting messages than an item carries → forwarded in several, each after the one before`() {
        var script = contended()
        for counter in 2...41 { script.post("alice", UInt64(counter), byteCount: 300) }
        let effects = script.drain()
        let found = forwarded(effects)
        #expect(appends(effects) == [] && found.count > 1 && found.flatMap(\.counters) == Array(2...41))
        #expect(found.map(\.after) == [1] + found.dropLast().compactMap(\.counters.last))
    }

    //
    @Test func `messages of a different relay → appended with the own ones, and its publisher gets no acceptance here`()
        throws
    {
        var script = room("alice", "dave")
        script.post("alice", 1)
        forward(&script, [entry(7, "carol", 3), entry(8, "carol", 9)], after: 0)
        #expect(appends(script.drain()) == [[1, 2, 3]])
        script.store()
        let effects = script.drain()
        #expect(effects.offsets(to: "dave") == [1, 2, 3])
        let batch = try #require(sent(effects).first?.batch)
        let stored = try StoredBatch.decode(batch, firstOffset: 1)
        #expect(stored.map(\.counter) == [1, 3, 9] && stored.map(\.acceptedAt).suffix(2) == [2007, 2008])
        #expect(try stored.map { try Message(parsing: $0.body.rawBytes).relay?.offset } == [1, 2, 3])
    }

    //
    @Test func `the same messages are forwarded again, with one more → only that one is appended`() {
        var script = room("alice")
        forward(&script, [entry(7, "carol", 3), entry(8, "carol", 4)])
        #expect(appends(script.drain()) == [[1, 2]])
        script.store()
        _ = script.drain()
        forward(&script, [entry(7, "carol", 3), entry(8, "carol", 4), entry(9, "carol", 5)])
        #expect(appends(script.drain()) == [[3]])
    }

    //
    @Test func `a message before the forwarded ones is missing → not appended`() {
        var script = room("alice")
        forward(&script, [entry(7, "carol", 3)], after: 2)
        #expect(appends(script.drain()) == [])
        forward(&script, [entry(6, "carol", 2), entry(7, "carol", 3)])
        #expect(appends(script.drain()) == [[1, 2]])
    }

    //
    @Test func `forwarded messages that the roles of this relay do not permit → not appended`() throws {
        var script = room("alice", roles: RoomRolesConfiguration())
        let id = MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: 1)
        forward(
            &script,
            [
                entry(7, "bob", 1),
                entry(8, "bob", 2, content: try MessageBody.delete(MessageReference(id, offset: 1)).content),
            ])
        #expect(appends(script.drain()) == [[1]])
        script.store()
        _ = script.drain()
        let roles = try #require(
            try RoomRoles(owner: .alice).applying(.mute(.bob, seconds: 600), by: .owner, at: 5000))
        var snapshot = RoomSnapshot(log: Self.log, lastOffset: 1, roles: roles.encoded())
        snapshot.rolesVersion = 2
        reported(&script, end: 1, roles: 2)
        _ = script.drain()
        script.rooms.answered(.load(.lobby, .success(snapshot)), at: 5000)
        _ = script.drain()
        forward(&script, [entry(8, "bob", 2)], after: 1)
        #expect(appends(script.drain()) == [])
    }

    // R-230, Specs/hostile.md row 132
    @Test func `forwarded messages of a different log, with a wrong stamp, or not a batch → ignored`() {
        var script = room("alice")
        forward(&script, [entry(7, "carol", 1, stamp: 8)])
        forward(&script, [entry(7, "carol", 1, stampName: "bob")])
        for (log, batch) in [(LogID(rawValue: 2), StoredBatch.encode([entry(7, "carol", 1)])), (Self.log, [1, 2, 3])] {
            let item = BusEntries(room: .lobby, log: log, offset: 7, batch: batch)
            script.rooms.busReceived(.item(.forwarded(item, after: 0), from: Self.two, number: 9), now: script.now)
        }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `an append with forwarded messages is refused → the own ones remain, and the others are left out`() {
        var script = room("alice")
        script.post("alice", 1)
        forward(&script, [entry(7, "carol", 1)])
        #expect(appends(script.drain()) == [[1, 2]])
        conflict(&script, [entry(1, "dave", 1)])
        #expect(appends(script.drain()) == [[2]])
        script.store()
        _ = script.drain()
        forward(&script, [entry(7, "carol", 1)])
        #expect(appends(script.drain()) == [[3]])
    }

    //
    @Test func `a forwarded message is published here, too, and its append is refused → appended again and accepted`() {
        var script = room("alice", "dave")
        forward(&script, [entry(7, "alice", 1)])
        script.post("alice", 1)
        #expect(appends(script.drain()) == [[1]])
        conflict(&script, [entry(1, "bob", 1)])
        #expect(appends(script.drain()) == [[2]])
        script.store()
        #expect(script.drain().accepted(by: "alice") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 2)])
    }

    /// Forwards message 1 of dave, and loads roles that forbid it, after messages up to an offset.
    private func mute(_ script: inout RoomScript, upTo end: UInt64) throws -> [RoomScript.Effect] {
        script.post("dave", 1)
        #expect(forwarded(script.drain()).count == 1)
        reported(&script, end: 3, roles: 2)
        #expect(script.drain() == [.load("lobby")])
        answerLoad(&script, try mutedRoles(), upTo: end)
        return script.drain()
    }

    private func mutedRoles() throws -> RoomRoles {
        try #require(
            try RoomRoles(owner: .alice).applying(.mute(AccountName("dave"), seconds: 600), by: .owner, at: 5000))
    }

    /// Answers the load of version 2 of the roles.
    private func answerLoad(_ script: inout RoomScript, _ roles: RoomRoles, upTo end: UInt64) {
        var snapshot = RoomSnapshot(log: Self.log, lastOffset: end, roles: roles.encoded())
        snapshot.rolesVersion = 2
        script.rooms.answered(.load(.lobby, .success(snapshot)), at: 5000)
    }

    private func refusals(_ effects: [RoomScript.Effect]) -> [ErrorCode] {
        effects.compactMap { if case .sent("dave", .receipt(.refused(let refusal))) = $0 { refusal.code } else { nil } }
    }

    //
    @Test func `loaded roles forbid a forwarded message that was stored before them → accepted, and then in effect`()
        throws
    {
        var script = contended(roles: RoomRolesConfiguration())
        var effects = try mute(&script, upTo: 4)
        #expect(hasRead(effects) && refusals(effects) == [])
        // Nothing is appended before the roles are in effect.
        script.post("alice", 2)
        script.now = script.now + .milliseconds(100)
        #expect(appends(script.drain()) == [])
        missed(&script, [entry(4, "dave", 1)])
        effects = script.drain()
        #expect(effects.accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)])
        script.post("dave", 2)
        #expect(refusals(script.drain()) == [.forbidden])
    }

    //
    @Test func `loaded roles forbid a forwarded message that the log does not have → refused`() throws {
        var script = contended(roles: RoomRolesConfiguration())
        let effects = try mute(&script, upTo: 3)
        #expect(!hasRead(effects) && refusals(effects) == [.forbidden])
    }

    //
    @Test func `a message is published before the store answers that its sender is muted → refused`() {
        var script = room("alice", "dave", roles: RoomRolesConfiguration())
        script.operate("alice", .mute(AccountName("dave"), seconds: 60), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.post("dave", 1)
        script.post("alice", 1)
        #expect(appends(script.drain()) == [])
        script.rooms.rolesSaved(.lobby, .saved)
        #expect(hasRead(script.drain()))
        missed(&script, [])
        let effects = script.drain()
        #expect(refusals(effects) == [.forbidden] && appends(effects) == [[1]])
    }

    //
    @Test func `a read for a member has later messages than the copy → only those of the copy are delivered`() {
        var script = room("alice")
        script.post("alice", 1)
        _ = script.drain()
        script.store()
        _ = script.drain()
        script.with("alice") { $0.read(ReadID(member: $1), [self.entry(1), self.entry(2)], first: 1) }
        #expect(script.drain().offsets(to: "alice") == [])
        receive(&script, entries(2...2))
        #expect(script.drain().offsets(to: "alice") == [2])
    }

    //
    @Test func `the same roles are reported while they are held → not loaded again`() throws {
        var script = contended(roles: RoomRolesConfiguration())
        _ = try mute(&script, upTo: 4)
        reported(&script, end: 4, roles: 2)
        #expect(!script.drain().contains(.load("lobby")))
        missed(&script, [entry(4, "dave", 1)])
        #expect(script.drain().accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)])
    }

    //
    @Test func `held roles await an append of this relay → in effect when it is stored, before the next one`() throws {
        var script = room("alice", "dave", roles: RoomRolesConfiguration())
        script.post("dave", 1)
        #expect(appends(script.drain()) == [[1]])
        script.post("dave", 2)
        script.post("alice", 1)
        reported(&script, end: 1, roles: 2)
        _ = script.drain()
        answerLoad(&script, try mutedRoles(), upTo: 1)
        #expect(refusals(script.drain()) == [])
        script.store()
        let effects = script.drain()
        #expect(effects.accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
        #expect(refusals(effects) == [.forbidden] && appends(effects) == [[2]])
    }

    //
    @Test func `roles are saved, and the log has a waiting message before them → accepted`() {
        var script = contended(roles: RoomRolesConfiguration())
        script.post("dave", 1)
        #expect(forwarded(script.drain()).count == 1)
        script.operate("alice", .mute(AccountName("dave"), seconds: 60), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.rooms.rolesSaved(.lobby, .saved)
        var effects = script.drain()
        #expect(hasRead(effects) && refusals(effects) == [] && appends(effects) == [])
        missed(&script, [entry(4, "dave", 1)])
        effects = script.drain()
        #expect(effects.accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)])
        #expect(hasRead(effects))
        missed(&script, [])
        script.post("dave", 2)
        #expect(refusals(script.drain()) == [.forbidden])
    }

    //
    @Test func `roles are saved, and the log has a message that is published after that → accepted`() {
        var script = room("alice", "dave", end: 3, roles: RoomRolesConfiguration())
        script.operate("alice", .mute(AccountName("dave"), seconds: 60), correlation: 1)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        script.rooms.rolesSaved(.lobby, .saved)
        #expect(hasRead(script.drain()))
        // Its device has moved here from relay 2, which has stored the message before the mute.
        script.post("dave", 1)
        script.post("dave", 2)
        var effects = script.drain()
        #expect(refusals(effects) == [] && appends(effects) == [])
        missed(&script, [entry(4, "dave", 1)])
        effects = script.drain()
        #expect(effects.accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)])
        missed(&script, [])
        #expect(refusals(script.drain()) == [.forbidden])
    }

    /// A room of alice and dave up to offset 3, in which this relay has saved that dave is muted.
    private func withSavedMute() -> RoomScript {
        var script = room("alice", "dave", end: 3, roles: RoomRolesConfiguration())
        script.operate("alice", .mute(AccountName("dave"), seconds: 60), correlation: 1)
        _ = script.drain()
        script.rooms.rolesSaved(.lobby, .saved)
        return script
    }

    //
    @Test func `each read of a hold finds messages → in effect at the end that the store reports for the roles`() {
        var script = withSavedMute()
        #expect(hasRead(script.drain()))
        script.post("alice", 1)
        reported(&script, end: 5, roles: 1)
        missed(&script, [entry(4)])
        #expect(appends(script.drain()) == [])
        reported(&script, end: 6, roles: 2)
        missed(&script, [entry(5)])
        #expect(appends(script.drain()) == [])
        missed(&script, [entry(6), entry(7)])
        #expect(appends(script.drain()) == [[8]])
    }

    //
    @Test func `a read that began before the store had saved roles finds nothing → still held, and read again`() {
        var script = room("alice", "dave", end: 3, roles: RoomRolesConfiguration())
        reported(&script, end: 4)
        _ = script.drain()
        #expect(hasRead(later(&script)))
        script.operate("alice", .mute(AccountName("dave"), seconds: 60), correlation: 1)
        _ = script.drain()
        script.rooms.rolesSaved(.lobby, .saved)
        script.post("dave", 1)
        missed(&script, [])
        let effects = script.drain()
        #expect(hasRead(effects) && refusals(effects) == [])
        missed(&script, [entry(4, "dave", 1)])
        #expect(
            script.drain().accepted(by: "dave") == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 4)])
    }

    //
    @Test func `messages of the bus arrive in the turn in which roles are saved → the read is not delayed`() {
        var script = withSavedMute()
        receive(&script, entries(4...4))
        #expect(hasRead(script.drain()))
    }

    // R-209, Specs/hostile.md row 58
    @Test func `a message and an operation wait for the end of a hold → the message is appended first`() {
        var script = withSavedMute()
        _ = script.drain()
        script.post("alice", 1)
        script.operate("alice", .unmute(AccountName("dave")), correlation: 2)
        _ = script.drain()
        missed(&script, [])
        let effects = script.drain()
        #expect(appends(effects) == [[4]] && !effects.contains(.saveRoles(isCreation: false)))
        script.store()
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
    }

    //
    @Test func `an operation changes nothing → saved, and performed again when the store has other roles`() throws {
        var script = room("alice", "dave", end: 3, roles: RoomRolesConfiguration())
        script.operate("alice", .unmute(AccountName("dave")), correlation: 1)
        var effects = script.drain()
        #expect(effects.contains(.saveRoles(isCreation: false)) && answer(effects) == nil)
        script.rooms.answered(.saveRoles(.lobby, .failure(.rolesChanged)), at: 5000)
        _ = script.drain()
        answerLoad(&script, try mutedRoles(), upTo: 3)
        #expect(script.drain().contains(.saveRoles(isCreation: false)))
        #expect(script.savedRoles?[AccountName("dave")]?.mutedUntil ?? 0 == 0)
        script.rooms.rolesSaved(.lobby, .saved)
        effects = script.drain()
        #expect(answer(effects) == ErrorCode.none)
    }

    private func answer(_ effects: [RoomScript.Effect]) -> ErrorCode? {
        for case .sent("alice", .response(let response)) in effects { return response.status }
        return nil
    }

    //
    @Test func `a forwarded message has a reused counter → neither it nor those after it are appended`() {
        var script = room("alice", end: 3)
        forward(&script, [entry(7, "carol", 1)])
        _ = script.drain()
        script.store()
        _ = script.drain()
        forward(&script, [entry(8, "carol", 1, content: MessageContent(text: "another")), entry(9, "carol", 2)])
        #expect(appends(script.drain()) == [])
        forward(&script, [entry(8, "carol", 1), entry(9, "carol", 2)])
        #expect(appends(script.drain()) == [[5]])
    }

    //
    @Test func `loaded roles come after messages that the store does not have → in effect`() throws {
        var script = contended(roles: RoomRolesConfiguration())
        let effects = try mute(&script, upTo: 9)
        #expect(hasRead(effects) && refusals(effects) == [])
        missed(&script, [])
        #expect(refusals(script.drain()) == [.forbidden])
    }

    //
    @Test func `the store fails an append with forwarded messages → the sessions of this relay end, and no more`() {
        var script = room("alice", "dave")
        forward(&script, [entry(7, "carol", 1)])
        script.post("alice", 1)
        _ = script.drain()
        script.failStore()
        let effects = script.drain()
        #expect(effects.contains(.reset("alice", .storeUnavailable)))
        #expect(!effects.contains(.reset("dave", .storeUnavailable)))
        forward(&script, [entry(7, "carol", 1)])
        #expect(appends(script.drain()) == [[1]])
    }

    //
    @Test func `eight appends of the other relay with messages of this one only → this one appends again`() {
        var script = contended()
        for offset in 4...11 as ClosedRange<UInt64> {
            script.post("alice", offset)
            #expect(forwarded(script.drain()).count == 1)
            receive(&script, [entry(offset, "alice", offset)])
            _ = script.drain()
        }
        script.post("alice", 12)
        #expect(appends(script.drain()) == [[12]])
    }

    //
    @Test func `stored messages that exceed a datagram together → sent in several items`() {
        var script = room("alice")
        for counter in 1...40 { script.post("alice", UInt64(counter), byteCount: 300) }
        _ = script.drain()
        script.store()
        let items = sent(script.drain())
        #expect(items.count > 1 && items.flatMap { $0.entries ?? [] }.map(\.offset) == Array(1...40))
        for item in items { #expect(BusWriter.byteCount(of: BusMessage(.entries(item), to: Self.two)) <= 4096) }
    }

    // MARK: Loads and reads

    //
    @Test func `messages while the room is loaded → ignored`() {
        var script = RoomScript(snapshot: nil, busItemByteCount: 4096)
        script.join("alice")
        receive(&script, entries(1...1))
        _ = script.drain()
        script.rooms.loaded(.lobby, RoomSnapshot(log: Self.log))
        #expect(script.drain().offsets(to: "alice").isEmpty && counts(script) == [0, 0])
    }

    //
    @Test func `messages while missed ones are read → taken; the read brings the rest only`() {
        var script = room("alice")
        receive(&script, nil, at: 1)
        _ = script.drain()
        receive(&script, entries(1...2))
        #expect(script.drain().offsets(to: "alice") == [1, 2])
        missed(&script, entries(1...3))
        #expect(script.drain().offsets(to: "alice") == [3])
        // Here the bus has brought all of them.
        receive(&script, nil, at: 4)
        _ = script.drain()
        receive(&script, entries(4...5))
        _ = script.drain()
        missed(&script, entries(4...4))
        #expect(script.drain().isEmpty && later(&script).isEmpty)
    }

    //
    @Test func `a read ends with messages of the bus only → a session that awaits later ones waits on`() {
        var script = room("alice")
        receive(&script, nil, at: 1)
        _ = script.drain()
        script.join("dave", cursor: 3, log: Self.log)
        script.rooms.receive(.leave(script.handles["alice"]!))
        receive(&script, entries(1...2))
        _ = script.drain()
        missed(&script, entries(1...2))
        let effects = script.drain()
        #expect(effects.about("dave").isEmpty && effects.contains(.read("?", from: 3)))
        receive(&script, entries(3...3))
        #expect(script.drain().contains { if case .opened("dave", head: 3, _, _) = $0 { true } else { false } })
    }

    // MARK: Lost, repeated and invalid items

    //
    @Test func `a gap → the missing messages are read, and the later ones follow from the bus`() {
        var script = room("alice")
        receive(&script, entries(1...1))
        receive(&script, entries(3...4))
        #expect(script.drain().offsets(to: "alice") == [1])
        #expect(later(&script) == [.read("?", from: 2)])
        receive(&script, entries(5...5))
        missed(&script, entries(2...3))
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [2, 3, 4, 5] && !hasRead(effects) && later(&script).isEmpty)
    }

    //
    @Test func `items in another order, repeated, and half known → each message once`() {
        var script = room("alice")
        receive(&script, entries(3...4))
        receive(&script, entries(1...2))
        #expect(script.drain().offsets(to: "alice") == [1, 2, 3, 4])
        receive(&script, entries(1...2))
        receive(&script, entries(3...4))
        #expect(script.drain().isEmpty)
        receive(&script, entries(4...6))
        #expect(script.drain().offsets(to: "alice") == [5, 6] && later(&script).isEmpty)
    }

    //
    @Test func `messages of another log → ignored`() {
        var script = room("alice")
        receive(&script, entries(1...1), log: LogID(rawValue: 2))
        receive(&script, nil, at: 1, log: LogID(rawValue: 2))
        #expect(script.drain().isEmpty && later(&script).isEmpty)
    }

    // R-219, Specs/hostile.md row 126
    @Test func `damaged messages, other stamps, too many, and none → ignored`() {
        var script = room("alice")
        var damaged = StoredBatch.encode(entries(1...1)[...])
        damaged[5] ^= 1
        receive(&script, damaged, at: 1)
        receive(&script, [entry(1, stamp: 2)])
        receive(&script, [entry(1, stampName: "carol/2")])
        receive(&script, [entry(1, stampName: "dave")])
        receive(&script, entries(1...257))
        receive(&script, [], at: 1)
        receive(&script, StoredBatch.encode([]), at: 1)
        let other = entry(1)
        let body = EncodedBody([1, 2, 3])
        receive(
            &script,
            [
                LogEntry(
                    offset: 1, sender: other.sender, device: other.device, counter: 1, acceptedAt: 1, body: body)
            ])
        #expect(script.drain().isEmpty && later(&script).isEmpty && counts(script) == [0, 0])
    }

    // R-219, Specs/hostile.md row 126
    @Test func `messages far beyond the log, without end → the oldest are dropped, and one read of the store`() {
        var script = room("alice")
        var reads = 0
        for number in 0..<200 {
            let first = 1_000_000 - UInt64(number) * 10
            receive(&script, [entry(first, "carol", 1, byteCount: 3000)])
            reads += script.drain().count { if case .read("?", _) = $0 { true } else { false } }
        }
        let index = script.rooms.index(of: .lobby)
        #expect(index.map { script.rooms.rooms[$0].replica.earlyByteCount <= RoomReplica.maxEarlyByteCount } == true)
        #expect(reads == 0 && later(&script) == [.read("?", from: 1)])
        missed(&script, [])
        #expect(script.drain().isEmpty && later(&script).isEmpty)
        receive(&script, entries(1...1))
        #expect(script.drain().offsets(to: "alice") == [1])
    }
}
