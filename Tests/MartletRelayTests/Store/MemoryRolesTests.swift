import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct MemoryRolesTests {
    private let lobby = RoomName("lobby")
    private let hall = RoomName("hall")
    private let ada = AccountName("ada")

    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }

    @Test func `roles are kept for each room, and replaced`() throws {
        var roles = MemoryRoles()
        #expect(roles[lobby] == nil)
        try roles.save(bytes(3), of: lobby, nil, maxByteCount: 10_000)
        try roles.save(bytes(5), of: lobby, nil, maxByteCount: 10_000)
        try roles.save(bytes(7), of: hall, nil, maxByteCount: 10_000)
        #expect(roles[lobby] == bytes(5) && roles[hall] == bytes(7))
        #expect(roles.byteCount == 2 * MemoryRoles.roomByteCount + 12)
    }

    // Specs/hostile.md row 59
    @Test func `row 59, roles beyond the bound are refused, and shorter ones are saved`() throws {
        var roles = MemoryRoles()
        let most = MemoryRoles.roomByteCount + 100
        try roles.save(bytes(100), of: lobby, nil, maxByteCount: most)
        #expect(throws: InMemoryStore.Failure.rolesFull) {
            try roles.save(bytes(101), of: lobby, nil, maxByteCount: most)
        }
        #expect(throws: InMemoryStore.Failure.rolesFull) { try roles.save([], of: hall, nil, maxByteCount: most) }
        try roles.save(bytes(90), of: lobby, nil, maxByteCount: 1)
        #expect(roles[lobby] == bytes(90) && roles[hall] == nil)
    }

    //
    @Test func `rooms that an account creates are counted, and those of others are not`() throws {
        var roles = MemoryRoles()
        let creation = RoomCreation(account: ada, maxRoomCount: 1)
        try roles.save(bytes(1), of: lobby, creation, maxByteCount: 10_000)
        #expect { try roles.save(bytes(1), of: hall, creation, maxByteCount: 10_000) } throws: {
            "\($0)" == "tooManyRooms"
        }
        #expect(roles[hall] == nil)
        try roles.save(
            bytes(1), of: hall, RoomCreation(account: AccountName("bob"), maxRoomCount: 1), maxByteCount: 10_000)
        try roles.save(bytes(2), of: lobby, nil, maxByteCount: 10_000)
    }

    // R-73, Specs/hostile.md row 67
    @Test func `row 67, roles of an account's rooms beyond its bound are refused, shorter ones and others' are saved`()
        throws
    {
        var roles = MemoryRoles()
        func save(_ count: Int, of room: RoomName, _ creator: AccountName? = nil) throws {
            let creation = creator.map { RoomCreation(account: $0, maxRoomCount: 2) }
            try roles.save(bytes(count), of: room, creation, maxByteCount: 10_000, maxByteCountPerCreator: 10)
        }
        try save(6, of: lobby, ada)
        #expect { try save(5, of: hall, ada) } throws: { "\($0)" == "rolesFull" }
        try save(4, of: hall, ada)
        #expect { try save(7, of: lobby) } throws: { "\($0)" == "rolesFull" }
        try save(5, of: lobby)
        try save(5, of: hall)
        try save(9, of: RoomName("attic"), AccountName("bob"))
        // A room without a creator has the bound of the store only.
        try save(11, of: RoomName("cellar"))
    }

    @Test func `roles outlive a log that the store has removed`() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxRooms = 1
        let store = InMemoryStore(bounds: bounds)
        let log = store.load(lobby).log
        try store.saveRoles(bytes(4), of: lobby, creation: nil)
        _ = store.load(hall)
        #expect(store.roomCount == 1)
        #expect(store.load(lobby).log != log && store.load(lobby).roles == bytes(4))
    }
}
