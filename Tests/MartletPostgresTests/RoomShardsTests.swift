import MartletRelay
import MartletWire
import Testing

@testable import MartletPostgres

@Suite struct RoomShardsTests {
    private let rooms = (0..<10_000).map { RoomName("room \($0)")! }

    private func names(_ names: String...) throws -> RoomShards { try RoomShards(names) }

    //
    @Test(
        arguments: [
            ("lobby", 0x143d_45f1_1bc4_8245, 0x9991_f8f7_f744_ee78, "b"),
            ("attic", 0x1c9c_231a_375e_9f49, 0x82a9_7888_5d50_625f, "b"),
            ("kitchen", 0xf8b4_123f_4b60_f9b1, 0x2c2e_7264_357e_3030, "a"),
            ("é", 0xe730_8e4f_6aa6_5075, 0xa288_32c4_ed87_c581, "a"),
        ] as [(String, UInt64, UInt64, String)])
    func `the vectors of R-226 → weights and places, in any order of the names`(
        room: String, first: UInt64, second: UInt64, place: String
    ) throws {
        let room = try #require(RoomName(room))
        #expect(RoomShards.weight(of: room, in: "a") == first && RoomShards.weight(of: room, in: "b") == second)
        for shards in [try names("a", "b"), try names("b", "a")] {
            #expect(shards.names[shards.place(of: room)] == place)
        }
    }

    //
    @Test func `10,000 rooms over two and three databases → equal shares within 3 %`() throws {
        for shards in [try names("a", "b"), try names("a", "b", "c"), try names("db1", "db2", "db3")] {
            var counts = [Int](repeating: 0, count: shards.names.count)
            for room in rooms { counts[shards.place(of: room)] += 1 }
            let share = rooms.count / counts.count
            #expect(counts.allSatisfy { abs($0 - share) * 100 <= share * 3 }, "\(counts)")
        }
    }

    //
    @Test func `a further name → its share of the rooms moves to it, and no other`() throws {
        let (two, three) = (try names("a", "b"), try names("a", "b", "c"))
        let moved = rooms.filter { two.names[two.place(of: $0)] != three.names[three.place(of: $0)] }
        #expect(moved.allSatisfy { three.names[three.place(of: $0)] == "c" })
        #expect((3200...3467).contains(moved.count))
    }

    //
    @Test func `names that are no names, are given twice, or are too many → typed errors with the reason`() throws {
        for (names, reason) in [
            ([], "0 databases"), (["a", "B"], "'B' is not a name"), ([""], "'' is not a name"), (["a,b"], "'a,b'"),
            ([String(repeating: "x", count: 33)], "is not a name"), (["b", "a", "b"], "'b' is given twice"),
            ((0..<17).map { "db\($0)" }, "17 databases"),
        ] {
            #expect {
                try RoomShards(names)
            } throws: {
                guard case .invalidShards(let text)? = $0 as? PostgresError else { return false }
                return text.split(separator: reason).count > 1 || text.hasPrefix(reason) || text.hasSuffix(reason)
            }
        }
        #expect(try RoomShards((0..<16).map { "db_\($0)-x" }).names.count == 16)
    }

    // MARK: Pages

    private func page(_ names: String..., next: String? = nil) -> StoredRoomPage {
        let rooms = names.map {
            StoredRoomPage.Room(name: RoomName($0)!, log: LogID(rawValue: 1), lastOffset: 0, firstOffset: 1)
        }
        return StoredRoomPage(rooms: rooms, next: next.map { RoomName($0)! })
    }

    //
    @Test func `pages of two databases → their rooms in order, up to the limit and the first end of a page`() {
        func merged(_ pages: [StoredRoomPage], limit: Int) -> [String?] {
            let page = PostgresShards.merge(pages, RoomListRead(limit: limit))
            return page.rooms.map(\.name.text) + ["then", page.next?.text]
        }
        #expect(merged([page(), page()], limit: 2) == ["then", nil])
        #expect(merged([page("b"), page("a")], limit: 2) == ["a", "b", "then", nil])
        // One more than the limit.
        #expect(merged([page("a", "c"), page("b")], limit: 2) == ["a", "b", "then", "b"])
        // More than a page in each database.
        #expect(merged([page("a", "c", next: "c"), page("b", "d", next: "d")], limit: 2) == ["a", "b", "then", "b"])
        #expect(merged([page("a", "b", next: "b"), page("c", "d", next: "d")], limit: 2) == ["a", "b", "then", "b"])
        #expect(merged([page("a", "b", next: "b"), page("c", "d")], limit: 2) == ["a", "b", "then", "b"])
        // A page of visited rooms that ends early, also without a room.
        #expect(merged([page("a", next: "b"), page("b", "c")], limit: 3) == ["a", "b", "then", "b"])
        #expect(merged([page(next: "a"), page("b")], limit: 3) == ["then", "a"])
    }

    //
    @Test func `entries of an account in two databases → in order, and a page up to its limit`() {
        func entries(_ names: String...) -> [StoredRoomEntry] {
            names.map { name in
                let record = MembershipRecord(isJoined: true, changedAt: 1)
                return StoredRoomEntry(RoomEntry(RoomName(name)!, record))
            }
        }
        let parts = [entries("a", "c", "d"), entries("b", "e")]
        func merged(_ read: MembershipRead) -> [String] { PostgresShards.merge(parts, read).map(\.room.text) }
        #expect(merged(.names) == ["a", "b", "c", "d", "e"])
        #expect(merged(.page(after: nil, maxCount: 5)) == ["a", "b", "c", "d", "e"])
        #expect(merged(.page(after: nil, maxCount: 3)) == ["a", "b", "c"])
        #expect(merged(.page(after: nil, maxCount: 0)) == [] && merged(.page(after: nil, maxCount: -1)) == [])
    }

    // MARK: Claims

    //
    @Test func `what databases have kept → the installation, or the first cause of a refusal`() throws {
        let shards = try names("a", "b", "c")
        func kept(_ name: String, of installation: String = "1", records: Bool = false) -> KeptPlace {
            KeptPlace(place: ShardPlace(name, in: shards, of: installation), hasRecords: records)
        }
        let (empty, used) = (KeptPlace(), KeptPlace(hasRecords: true))
        func installation(_ kept: [KeptPlace], isUsed: Bool = false) throws -> String? {
            try ShardClaim.installation(kept, shards, isUsed: isUsed)
        }
        #expect(try installation([empty, empty, empty]) == nil)
        #expect(try installation([kept("a"), kept("b"), kept("c", records: true)], isUsed: true) == "1")
        // A first start claims c, b and a.
        #expect(try installation([empty, empty, kept("c")]) == "1")
        #expect(try installation([empty, kept("b"), kept("c")]) == "1")
        for (all, name, expected) in [
            ([kept("a"), empty, kept("c")], "b", .unclaimed(given: "b of a,b,c")),
            ([empty, kept("b", records: true), kept("c")], "a", .unclaimed(given: "a of a,b,c")),
            ([empty, kept("b"), used], "c", .wrongShard(found: nil, given: "c of a,b,c")),
            ([kept("a"), kept("b", of: "2"), kept("c")], "b", .otherInstallation(given: "b of a,b,c")),
            ([empty, kept("c"), kept("b")], "b", .wrongShard(found: "c of a,b,c", given: "b of a,b,c")),
        ] as [([KeptPlace], String, PostgresError)] {
            #expect {
                _ = try installation(all)
            } throws: {
                guard let failure = $0 as? PostgresShards.Failure else { return false }
                return failure.database == name && failure.cause as? PostgresError == expected
            }
        }
        #expect(throws: PostgresShards.Failure.self) { try installation([empty, empty, empty], isUsed: true) }
    }
}
