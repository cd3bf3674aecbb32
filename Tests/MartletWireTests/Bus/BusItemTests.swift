import Testing

@testable import MartletWire

/// Items of the bus as bytes.
@Suite struct BusItemTests {
    private static let relay = RelayID(rawValue: 7)
    private static let peer = PeerRelay(
        relay: relay, name: "one", agent: "martlet-relay/1.0", linkCount: 2, roomCount: 3, isDraining: true,
        relayClock: 4)
    private static let request = Request(
        correlation: 5, method: MethodName("echo")!, deadline: .seconds(6), recipient: "bob", sender: "alice",
        content: [])
    /// An item of each kind, with all fields.
    static let items: [BusItem] = [
        .beat(peer), .beat(peer, isLast: true),
        .entries(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: 8, batch: [1, 2])),
        .entries(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: 1, batch: nil)),
        .forwarded(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: 8, batch: [1, 2]), after: 7),
        .forwarded(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: 8, batch: [1, 2]), after: 0),
        .forwarded(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: 8, batch: nil), after: 0),
        .linked("alice", DeviceID(rawValue: 6)), .wanted(["lobby", "hall"]),
        .members(
            BusMembers(
                room: "lobby", log: LogID(rawValue: 9), count: 2, isWhole: false,
                entries: [
                    BusMember("alice", .online, delivered: 8, read: 7, device: DeviceID(rawValue: 6)),
                    BusMember("bob", .left),
                ])),
        .members(BusMembers(room: "lobby", count: 0, isWhole: true, entries: [])),
        .transient("lobby", Transient(.typing(true), sender: "alice")), .request("lobby", request),
        .response("lobby", Response(correlation: 5, status: .forbidden)),
        .cancel("lobby", CancelRequest(correlation: 5)), .changed("lobby"),
        .membership(
            BusMembership(room: "lobby", account: "bob", state: .invited, inviter: "alice", changedAt: 10)),
        .command(11, .kick("bob")), .command(12, .revoke("bob")), .command(13, .drain("two")), .performed(13),
    ]

    private static func bytes(_ message: BusMessage) -> [UInt8] {
        var writer = TLVWriter()
        message.encode(into: &writer)
        return writer.bytes
    }

    //
    @Test(arguments: items) func `an encoded item → the same item`(_ item: BusItem) throws {
        for message in [BusMessage(item), BusMessage(item, to: Self.relay)] {
            let bytes = Self.bytes(message)
            #expect(try BusMessage.parse(bytes.rawBytes) == message)
        }
    }

    //
    @Test(arguments: items) func `an item that is cut → an error, or another item without a field`(_ item: BusItem) {
        let bytes = Self.bytes(BusMessage(item))
        for count in 0..<bytes.count {
            let part = Array(bytes.prefix(count))
            guard let message = try? BusMessage.parse(part.rawBytes) else { continue }
            #expect(message.item != item)
        }
    }

    //
    @Test(arguments: items) func `an item with a changed byte → an error or an item`(_ item: BusItem) {
        let bytes = Self.bytes(BusMessage(item))
        for index in bytes.indices {
            for mask: UInt8 in [1, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= mask
                _ = try? BusMessage.parse(changed.rawBytes)
            }
        }
    }

    //
    @Test(arguments: [0, UInt64(Int64.max)]) func `messages at an offset that no log has → an error`(_ offset: UInt64) {
        let bytes = Self.bytes(
            BusMessage(.entries(BusEntries(room: "lobby", log: LogID(rawValue: 9), offset: offset, batch: nil))))
        #expect(throws: WireError.invalidValue(.offset)) { try BusMessage.parse(bytes.rawBytes) }
    }

    //
    @Test func `an unknown kind → no item; an unknown field → skipped`() throws {
        let unknown: [UInt8] = [200, 1, 2, 3]
        #expect(try BusMessage.parse(unknown.rawBytes) == nil)
        var writer = TLVWriter()
        BusMessage(.changed("lobby")).encode(into: &writer)
        writer.append(.head, uint64: 1)
        let bytes = writer.bytes
        #expect(try BusMessage.parse(bytes.rawBytes)?.item == .changed("lobby"))
        let none: [UInt8] = []
        #expect(throws: WireError.invalidValue(.item)) { try BusMessage.parse(none.rawBytes) }
    }

    //
    @Test func `a request without sender or recipient, a room twice, too many entries → the error`() throws {
        func parse(_ item: BusItem) throws -> BusMessage? {
            let bytes = Self.bytes(BusMessage(item))
            return try BusMessage.parse(bytes.rawBytes)
        }
        let method = MethodName("echo")!
        #expect(throws: WireError.missingField(.sender)) {
            try parse(.request("lobby", Request(correlation: 1, method: method, deadline: .zero, recipient: "bob")))
        }
        #expect(throws: WireError.missingField(.recipient)) {
            try parse(.request("lobby", Request(correlation: 1, method: method, deadline: .zero, sender: "bob")))
        }
        #expect(throws: WireError.missingField(.sender)) { try parse(.transient("lobby", Transient(.typing(true)))) }
        var twice = Self.bytes(BusMessage(.changed("lobby")))
        twice += twice.dropFirst()
        #expect(throws: WireError.duplicateField(.room)) { try BusMessage.parse(twice.rawBytes) }
        let one = Self.bytes(
            BusMessage(.members(BusMembers(room: "lobby", count: 1, isWhole: true, entries: [BusMember("a", .left)]))))
        let entry = one.suffix(6 + 6 + 1 + 6 + 1)
        let many = one + Array(repeating: Array(entry), count: BusMembers.maxEntryCount).joined()
        #expect(throws: WireError.tooManyTLVs(limit: 16)) { try BusMessage.parse(many.rawBytes) }
    }
}
