import MartletWire
import Testing

@testable import MartletPostgres

@Suite struct RoomSpreadTests {
    private let rooms = (0..<10_000).map { RoomName("room \($0)")! }

    private func names(_ names: String...) throws -> RoomSpread { try RoomSpread(names) }

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
        #expect(RoomSpread.weight(of: room, in: "a") == first && RoomSpread.weight(of: room, in: "b") == second)
        for spread in [try names("a", "b"), try names("b", "a")] {
            #expect(spread.names[spread.place(of: room)] == place)
        }
    }

    //
    @Test func `10,000 rooms over two and three databases → equal shares within 3 %`() throws {
        for spread in [try names("a", "b"), try names("a", "b", "c"), try names("db1", "db2", "db3")] {
            var counts = [Int](repeating: 0, count: spread.names.count)
            for room in rooms { counts[spread.place(of: room)] += 1 }
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
                try RoomSpread(names)
            } throws: {
                guard case .invalidSpread(let text)? = $0 as? PostgresError else { return false }
                return text.split(separator: reason).count > 1 || text.hasPrefix(reason) || text.hasSuffix(reason)
            }
        }
        #expect(try RoomSpread((0..<16).map { "db_\($0)-x" }).names.count == 16)
    }
}
