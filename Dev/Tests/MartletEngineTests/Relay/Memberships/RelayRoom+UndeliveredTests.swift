import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct RoomUndeliveredTests {
    private static let delay = Duration.seconds(10)

    private static func snapshot(
        joined: [AccountName], invited: [AccountName] = [], lastOffset: UInt64 = 0
    ) -> RoomSnapshot {
        var snapshot = RoomSnapshot(
            log: LogID(rawValue: 5), lastOffset: lastOffset, firstOffset: lastOffset > 0 ? lastOffset + 1 : 1)
        for account in joined { snapshot.memberships[account] = MembershipRecord(isJoined: true, changedAt: 1) }
        for account in invited { snapshot.memberships[account] = MembershipRecord(isJoined: false, changedAt: 1) }
        return snapshot
    }

    private static func reports(_ script: inout RoomScript, after seconds: Int) -> [UndeliveredReport] {
        script.now = script.now + .seconds(seconds)
        return script.drain().reports
    }

    private static func acknowledge(_ script: inout RoomScript, _ name: String, upTo offset: UInt64) {
        script.with(name) { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: offset))) }
    }

    //
    @Test("messages to an absent account that has joined are reported after the delay, once, and not to their sender")
    func absent() throws {
        var script = RoomScript(
            "alice", snapshot: Self.snapshot(joined: [.alice, .bob]), undeliveredDelay: Self.delay)
        script.fill("alice", 1...2)
        #expect(Self.reports(&script, after: 9).isEmpty)
        let report = try #require(Self.reports(&script, after: 1).first)
        #expect(report.room == .lobby && report.log == LogID(rawValue: 5) && report.lastOffset == 2)
        #expect(report.recipients == [UndeliveredReport.Recipient(account: .bob, count: 2)])
        #expect(report.message?.relay.offset == 2 && report.message?.relay.sender == .alice)
        #expect(report.message?.kind == .text && report.message?.text == "x" && report.message?.isShortened == false)
        #expect(Self.reports(&script, after: 100).isEmpty)
    }

    //
    @Test("an account that has acknowledged is not reported; one whose link is attached and acknowledges nothing is")
    func present() {
        var script = RoomScript(
            "alice", "bob", "carol", snapshot: Self.snapshot(joined: [.bob, .named("carol")]),
            undeliveredDelay: Self.delay)
        script.fill("alice", 1...3)
        Self.acknowledge(&script, "bob", upTo: 3)
        Self.acknowledge(&script, "carol", upTo: 1)
        let recipients = Self.reports(&script, after: 10).flatMap(\.recipients)
        #expect(recipients == [UndeliveredReport.Recipient(account: .named("carol"), count: 2)])
    }

    //
    @Test("an account without a record, an invited one and one that left before the scan are not reported")
    func others() {
        var script = RoomScript(
            "alice", "bob", snapshot: Self.snapshot(joined: [.bob], invited: [.named("carol")]),
            undeliveredDelay: Self.delay)
        script.fill("alice", 1...1)
        let leave = MembershipCall(
            caller: MemberKey(link: LinkKey(slot: 90, generation: 1), session: SessionID(rawValue: 1)),
            number: 1, who: RoomScript.who("bob"), permissions: .all, room: .lobby, operation: .leave)
        script.rooms.receive(.membership(leave))
        #expect(script.drain().contains(.saveMemberships(["bob": .none])))
        script.rooms.membershipsSaved(.lobby, refused: [])
        #expect(Self.reports(&script, after: 10).isEmpty)
    }

    //
    @Test("the sender of the newest message is reported with the newest message of another account")
    func authors() {
        var script = RoomScript(
            "alice", "bob", snapshot: Self.snapshot(joined: [.alice, .bob, .named("carol")]),
            undeliveredDelay: Self.delay)
        script.post("alice", 1)
        script.fill("bob", 1...2)
        let reports = Self.reports(&script, after: 10)
        let found = reports.flatMap { report in
            report.recipients.map { "\($0.account) \($0.count) \(report.message?.relay.offset ?? 0)" }
        }
        #expect(found.sorted() == ["alice 2 3", "bob 1 1", "carol 3 3"])
    }

    //
    @Test("an account that was reported is reported again with the messages that follow")
    func again() {
        var script = RoomScript("alice", snapshot: Self.snapshot(joined: [.bob]), undeliveredDelay: Self.delay)
        script.fill("alice", 1...2)
        #expect(Self.reports(&script, after: 10).flatMap(\.recipients).map(\.count) == [2])
        script.fill("alice", 3...3)
        let second = Self.reports(&script, after: 10)
        #expect(second.flatMap(\.recipients).map(\.count) == [1] && second.first?.lastOffset == 3)
    }

    //
    @Test("after a load, earlier messages are not reported, and the next one alone is")
    func restart() {
        var script = RoomScript(
            "alice", snapshot: Self.snapshot(joined: [.bob], lastOffset: 5), undeliveredDelay: Self.delay)
        #expect(Self.reports(&script, after: 100).isEmpty)
        script.fill("alice", 1...1)
        let reports = Self.reports(&script, after: 10)
        #expect(reports.flatMap(\.recipients).map(\.count) == [1] && reports.first?.lastOffset == 6)
    }

    //
    @Test("a room without members stays in memory until its scan")
    func stays() {
        var script = RoomScript("alice", snapshot: Self.snapshot(joined: [.bob]), undeliveredDelay: Self.delay)
        script.fill("alice", 1...1)
        script.with("alice") { $0.receive(.leave($1)) }
        #expect(script.drain().reports.isEmpty && script.rooms.count == 1)
        #expect(Self.reports(&script, after: 10).count == 1)
        #expect(script.rooms.count == 0)
    }

    //
    @Test("a report has at most 64 accounts, and a message that has left memory is counted")
    func bounds() {
        let accounts = (0..<100).map { AccountName.named("account \($0 + 100)") }
        var script = RoomScript("alice", snapshot: Self.snapshot(joined: accounts), undeliveredDelay: Self.delay)
        let count = UInt64(RoomLog.tailBounds.maxCount + 100)
        script.fill("alice", 1...count)
        let reports = Self.reports(&script, after: 10)
        #expect(reports.map(\.recipients.count) == [64, 36])
        #expect(reports.flatMap(\.recipients).map(\.account) == accounts.sorted())
        #expect(reports.flatMap(\.recipients).allSatisfy { $0.count == count })
    }

    //
    @Test("a long text is shortened, and a long content of another kind is left out")
    func long() throws {
        func message(_ kind: ContentKind, _ content: [UInt8]) throws -> UndeliveredMessage {
            let body = Message.encodeClient(counter: 1, kind: kind, content: content)
            let bytes = Message.encodeRelay(
                offset: 1, acceptedAt: 2, sender: .alice, device: DeviceID(rawValue: 3), clientBody: body.rawBytes)
            let entry = LogEntry(
                offset: 1, sender: .alice, device: DeviceID(rawValue: 3), counter: 1, acceptedAt: 2,
                body: EncodedBody(bytes))
            return try #require(UndeliveredMessage(entry, in: .lobby))
        }
        let text = Message.textContent(String(repeating: "a", count: 5000))
        let shortened = try message(.text, text)
        #expect(shortened.isShortened && shortened.text?.utf8.count == RoomEntry.maxShortenedTextByteCount)
        let other = try message(ContentKind(rawValue: 0xF000), text)
        #expect(other.content == nil && other.kind.rawValue == 0xF000 && other.relay.sender == .alice)
    }

    //
    @Test("an account that may not enter the room by its roles is not reported")
    func roles() throws {
        var snapshot = Self.snapshot(joined: [.alice, .bob])
        var roles = RoomRoles(owner: .alice)
        roles = try #require(try roles.applying(.setRole(.owner, of: .named("carol")), by: .owner, at: 0))
        roles = try #require(try roles.applying(.setAccess(.inviteOnly), by: .owner, at: 0))
        snapshot.roles = roles.encoded()
        var script = RoomScript(
            "carol", snapshot: snapshot, roles: RoomRolesConfiguration(), undeliveredDelay: Self.delay)
        script.fill("carol", 1...1)
        #expect(Self.reports(&script, after: 10).flatMap(\.recipients).map(\.account) == [.alice])
    }

    //
    @Test func `progress before the scan for which the room is in memory → passed to the store`() {
        var script = RoomScript(
            "alice", "bob", snapshot: Self.snapshot(joined: [.bob, .named("carol")]), undeliveredDelay: Self.delay)
        script.fill("alice", 1...1)
        script.now = script.now + .seconds(8)
        Self.acknowledge(&script, "bob", upTo: 1)
        for name in ["alice", "bob"] { script.with(name) { $0.receive(.leave($1)) } }
        #expect(!script.drain().contains { if case .saveProgress = $0 { true } else { false } })
        #expect(script.rooms.count == 1)
        script.now = script.now + .seconds(2)
        let effects = script.drain()
        #expect(effects.contains(.saveProgress(["bob": AccountProgress(delivered: 1, read: 0)])))
        #expect(effects.reports.count == 1 && script.rooms.count == 0)
    }

    // MARK: Other relays

    private static let two = RelayID(rawValue: 2)

    /// A room with alice at this relay of a shared store, which bob has joined.
    private static func shared(busItemByteCount: Int? = 4096) -> RoomScript {
        RoomScript(
            "alice", snapshot: snapshot(joined: [.bob]), undeliveredDelay: delay, busItemByteCount: busItemByteCount,
            isShared: true)
    }

    /// Messages of carol, which a different relay has stored.
    private static func receive(_ script: inout RoomScript, _ offsets: ClosedRange<UInt64>) {
        let who = RoomScript.who("carol")
        let entries = offsets.map { offset in
            let stamp = RelayStamp(offset: offset, acceptedAt: 2000, sender: who.account, device: who.device)
            let body = Message(counter: offset, content: MessageContent(text: "x"), relay: stamp).encode()
            return LogEntry(
                offset: offset, sender: who.account, device: who.device, counter: offset, acceptedAt: 2000,
                body: EncodedBody(body))
        }
        let item = BusEntries(
            room: .lobby, log: LogID(rawValue: 5), offset: offsets.lowerBound,
            batch: StoredBatch.encode(entries[...]))
        script.rooms.busReceived(.item(.entries(item), from: two, number: 9), now: script.now)
        #expect(script.drain().offsets(to: "alice") == Array(offsets))
    }

    //
    @Test func `messages of a different relay between own ones → the own ones are reported`() {
        var script = Self.shared()
        script.fill("alice", 1...1)
        Self.receive(&script, 2...4)
        script.fill("alice", 2...3)
        let reports = Self.reports(&script, after: 10) + Self.reports(&script, after: 10)
        #expect(reports.map(\.lastOffset) == [1, 6] && reports.map { $0.recipients.map(\.count) } == [[1], [2]])
        #expect(reports.map { $0.message?.relay.offset } == [1, 6])
    }

    //
    @Test func `messages of a different relay alone → no report, and the room leaves memory with its members`() {
        var script = Self.shared()
        Self.receive(&script, 1...3)
        script.with("alice") { $0.receive(.leave($1)) }
        #expect(script.drain().reports.isEmpty && script.rooms.count == 0)
        #expect(Self.reports(&script, after: 100).isEmpty)
    }

    //
    @Test func `an append is refused, since a different relay was first → the own message is reported at its offset`() {
        var script = Self.shared(busItemByteCount: nil)
        script.post("alice", 1)
        #expect(script.drain() == [.append([1])])
        let stamp = RelayStamp(offset: 1, acceptedAt: 2000, sender: .carol, device: DeviceID(rawValue: 1))
        let first = LogEntry(
            offset: 1, sender: .carol, device: stamp.device, counter: 1, acceptedAt: 2000,
            body: EncodedBody(Message(counter: 1, content: MessageContent(text: "x"), relay: stamp).encode()))
        let history = RoomHistory(entries: [first], firstOffset: 1)
        script.rooms.answered(.append(.lobby, upTo: nil, messageCount: 0, .failure(.conflict(history))), at: 5000)
        #expect(script.drain().contains(.append([2])))
        script.store()
        _ = script.drain()
        let reports = Self.reports(&script, after: 10)
        #expect(reports.map(\.lastOffset) == [2] && reports.flatMap(\.recipients).map(\.count) == [1])
    }

    //
    @Test func `the messages of others cannot be read → the own ones are reported before the room is loaded again`() {
        var script = Self.shared(busItemByteCount: nil)
        script.fill("alice", 1...2)
        script.rooms.changed(RoomRevision(room: .lobby, log: LogID(rawValue: 5), lastOffset: 3, rolesVersion: 0))
        #expect(script.drain() == [.read("?", from: 3)])
        let handle = MemberHandle(
            room: 0, slot: -1, key: MemberKey(link: LinkKey(slot: -1, generation: 0), session: .control))
        script.rooms.answered(.read(.lobby, ReadID(member: handle), .failure(.unanswered)), at: 5000)
        let effects = script.drain()
        #expect(effects.reports.map(\.lastOffset) == [2] && effects.about("alice").count == 1)
        #expect(Self.reports(&script, after: 100).isEmpty && script.rooms.count == 0)
    }

    //
    @Test func `the account has acknowledged at a different relay, after the publisher has left → no report`() {
        for (delivered, expected) in [UInt64(0): [UInt64(2)], 1: [1], 2: []] {
            var script = Self.shared()
            script.fill("alice", 1...2)
            script.with("alice") { $0.receive(.leave($1)) }
            _ = script.drain()
            let item = BusMembers(
                room: .lobby, log: LogID(rawValue: 5), count: 1, isWhole: false,
                entries: [BusMember(.bob, .online, delivered: delivered)])
            script.rooms.busReceived(.item(.members(item), from: Self.two, number: 9), now: script.now)
            #expect(Self.reports(&script, after: 10).flatMap(\.recipients).map(\.count) == expected)
        }
    }
}
