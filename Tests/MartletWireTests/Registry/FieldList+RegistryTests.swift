import Testing

@testable import MartletWire

/// Contents that are lists of fields.
@Suite struct FieldListTests {
    private static let query = AdministrationQuery(
        room: "lobby", account: "bob", duration: .milliseconds(60_999), text: "at ten", next: 7, limit: 10)
    private static let link = LinkOverview(
        account: "bob", device: DeviceID(rawValue: 7), agent: String(repeating: "é", count: 100),
        address: "192.0.2.1:50000", since: 1, roundTrip: .nanoseconds(21_500_999), queuedByteCount: 512,
        sessionCount: 2)

    private func copy<Content: FieldList>(_ content: Content) throws -> Content {
        let bytes = content.encode()
        return try Content(parsing: bytes.rawBytes)
    }

    //
    @Test func `an encoded content → the same content; texts and durations fit their fields`() throws {
        #expect(try copy(Self.query) == Self.query && Self.query.duration == .seconds(60))
        #expect(try copy(Self.link) == Self.link && Self.link.roundTrip == .microseconds(21_500))
        #expect(Self.link.agent?.utf8.count == 128)
        let page = AdministrationPage(items: [Self.link.encode()], messages: [[1, 2]], count: 3, next: 4)
        #expect(try copy(page) == page)
        let account = AccountOverview(account: "bob", linkCount: 3, sessionCount: 5)
        #expect(try copy(account) == account)
        let room = RoomOverview(
            room: "lobby", memberCount: 2, log: LogID(rawValue: 9), head: 7, first: 1, memoryByteCount: 2048,
            roleCount: 3, access: .closed, maxAge: 1, maxCount: 2, maxByteCount: 3)
        #expect(try copy(room) == room)
        let relay = RelayOverview(
            since: 1, connectionCount: 2, linkCount: 3, roomCount: 4, messageCount: 5, memoryByteCount: 6)
        #expect(try copy(relay) == relay)
        let peer = PeerRelay(
            relay: RelayID(rawValue: 7), name: String(repeating: "é", count: 200), agent: "martlet 1.0", linkCount: 1,
            roomCount: 2, isDraining: true, relayClock: 3, lastHeardAt: 4)
        #expect(try copy(peer) == peer && peer.name.utf8.count == 256)
        #expect(try copy(AdministrationQuery()) == AdministrationQuery())
    }

    //
    @Test func `a missing, repeated or invalid field, and too many items → the error`() throws {
        let none: [UInt8] = []
        #expect(throws: WireError.missingField(.account)) { try LinkOverview(parsing: none.rawBytes) }
        let twice = Self.query.encode() + Self.query.encode()
        #expect(throws: WireError.duplicateField(.room)) { try AdministrationQuery(parsing: twice.rawBytes) }
        let zero: [UInt8] = [0, 0x5F, 0, 0, 0, 2, 0, 0]
        #expect(throws: WireError.invalidValue(.limit)) { try AdministrationQuery(parsing: zero.rawBytes) }
        var writer = TLVWriter()
        for _ in 0...AdministrationPage.maxItemCount { writer.append(.item, bytes: []) }
        let many = writer.bytes
        #expect(throws: WireError.tooManyTLVs(limit: 32)) { try AdministrationPage(parsing: many.rawBytes) }
    }

    //
    @Test func `a page of the longest links → at most 15 KiB`() {
        let name = String(repeating: "a", count: 128)
        let longest = LinkOverview(
            account: AccountName(name)!, device: DeviceID(rawValue: .max), agent: name,
            address: String(repeating: "1", count: 64), since: .max, roundTrip: .seconds(1), queuedByteCount: .max,
            sessionCount: .max)
        let items = Array(repeating: longest.encode(), count: AdministrationPage.maxItemCount)
        #expect(AdministrationPage(items: items, next: .max).encode().count <= 15 * 1024)
    }

    //
    @Test func `the methods of administration have one start, and names are valid`() {
        for method in AdministrationMethod.allCases {
            let name = MethodName(method.rawValue)
            #expect(name.map { AdministrationMethod.includes($0) } == true && name.flatMap { .init($0) } == method)
        }
        #expect(!AdministrationMethod.includes(MethodName("admins")!))
        #expect(AdministrationMethod.includes(MethodName("admin.other")!))
        #expect(RoomName.administration == RoomName("martlet.administration"))
    }
}
