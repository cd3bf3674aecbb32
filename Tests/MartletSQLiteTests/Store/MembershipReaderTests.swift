import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

@Suite struct MembershipReaderTests {
    private let folder: TemporaryFolder
    private let alice = AccountName("alice")
    private let bob = AccountName("bob")

    init() throws { folder = try TemporaryFolder() }

    private func joined(at time: UInt64 = 1) -> MembershipRecord { MembershipRecord(isJoined: true, changedAt: time) }

    //
    @Test
    func `records of two rooms -> entries with log, progress, unread count and last message, also after a restart`()
        async throws
    {
        let store = try await SQLiteStore(at: folder.path)
        let log = try await store.load(.lobby).log
        _ = try await store.append(entries(1...9), to: .lobby)
        _ = try await store.append(entries(10...10, of: "bob"), to: .lobby)
        try await store.saveProgress([bob: AccountProgress(delivered: 8, read: 7)], of: .lobby)
        #expect(try await store.saveMemberships([bob: joined(), alice: joined()], of: .lobby) == [])
        let invitation = MembershipRecord(isJoined: false, inviter: alice, changedAt: 4)
        #expect(try await store.saveMemberships([bob: invitation], of: .attic) == [])
        await store.close()
        let again = try await SQLiteStore(at: folder.path)
        #expect(try await again.load(.lobby).memberships == [bob: joined(), alice: joined()])
        let found = try await again.memberships(of: bob, .page(after: nil, maxCount: 10)).map(\.entry)
        #expect(found.map(\.room) == [.attic, .lobby])
        #expect(found[0] == RoomEntry(.attic, invitation))
        #expect(found[1].log == log && found[1].lastOffset == 10 && found[1].firstOffset == 1)
        #expect(found[1].delivered == 8 && found[1].read == 7 && found[1].unreadCount == 2 && found[1].message != nil)
        let page = try await again.memberships(of: bob, .page(after: .attic, maxCount: 10))
        #expect(page.map(\.room) == [.lobby])
        let some = try await again.memberships(
            of: bob, .rooms([.lobby: AccountProgress(delivered: 9, read: 9), RoomName("none"): AccountProgress()]))
        #expect(some.map(\.entry.read) == [9] && some[0].entry.unreadCount == 0)
        #expect(try await again.memberships(of: bob, .names).map(\.room) == [.attic, .lobby])
        #expect(try await again.saveMemberships([bob: nil], of: .lobby) == [])
        #expect(try await again.memberships(of: bob, .names).map(\.room) == [.attic])
        await again.close()
    }

    //
    @Test func `an account with the maximum of records -> a new record is refused, a change of one is not`() throws {
        let store = try folder.store()
        for number in 1...MembershipBounds.maxCountPerAccount {
            #expect(try store.saveMemberships([alice: joined()], of: RoomName("room \(number)")!) == [])
        }
        #expect(try store.saveMemberships([alice: joined(), bob: joined()], of: .lobby) == [alice])
        #expect(try store.load(.lobby).memberships == [bob: joined()])
        #expect(try store.saveMemberships([alice: joined(at: 9)], of: RoomName("room 1")) == [])
    }

    // R-122, Specs/hostile.md row 93
    @Test func `an account with 768 records -> another invitation is refused, and a join is not`() throws {
        let store = try folder.store()
        let invitation = MembershipRecord(isJoined: false, inviter: alice, changedAt: 4)
        for number in 1...MembershipBounds.maxCountWithInvitation {
            #expect(try store.saveMemberships([bob: invitation], of: RoomName("room \(number)")!) == [])
        }
        #expect(try store.saveMemberships([bob: invitation], of: .lobby) == [bob])
        #expect(try store.saveMemberships([bob: joined()], of: .lobby) == [])
        #expect(try store.saveMemberships([bob: joined()], of: RoomName("room 1")) == [])
    }

    //
    @Test func `more unread messages than are counted -> the maximum`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        for first in stride(from: UInt64(1), through: 201, by: 20) {
            _ = try store.append(entries(first...first + 19), to: .lobby)
        }
        _ = try store.saveMemberships([bob: joined(), alice: joined()], of: .lobby)
        #expect(try store.memberships(of: bob, .page(after: nil, maxCount: 1))[0].entry.unreadCount == 100)
        #expect(try store.memberships(of: alice, .page(after: nil, maxCount: 1))[0].entry.unreadCount == 0)
    }

    //
    @Test func `a page with progress that the store does not have -> the entry has it, up to the last offset`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...5), to: .lobby)
        _ = try store.saveMemberships([bob: joined()], of: .lobby)
        _ = try store.saveMemberships([bob: joined()], of: .attic)
        let more = AccountProgress(delivered: 4, read: 3)
        let found = try store.memberships(
            of: bob, .page(after: nil, maxCount: 10, progress: [.lobby: more, .attic: more])
        ).map(\.entry)
        #expect(found.map(\.room) == [.attic, .lobby])
        #expect(found[0] == RoomEntry(.attic, joined()))
        #expect(found[1].delivered == 4 && found[1].read == 3 && found[1].unreadCount == 2)
        try store.saveProgress([bob: AccountProgress(delivered: 5, read: 2)], of: .lobby)
        let lost = AccountProgress(delivered: 90, read: 4)
        let later = try store.memberships(of: bob, .page(after: nil, maxCount: 10, progress: [.lobby: lost]))[1].entry
        #expect(later.delivered == 5 && later.read == 4 && later.unreadCount == 1)
    }

    //
    @Test func `a room with roles in the list of an account -> the entry has them in their stored form`() throws {
        let store = try folder.store()
        for room in [RoomName.lobby, .attic] {
            _ = try store.load(room)
            _ = try store.append(entries(1...1), to: room)
            _ = try store.saveMemberships([bob: joined()], of: room)
        }
        try store.saveRoles([1, 2, 3], of: .lobby, creation: nil)
        let found = try store.memberships(of: bob, .page(after: nil, maxCount: 10))
        #expect(found.map(\.room) == [.attic, .lobby] && found.map(\.roles) == [nil, [1, 2, 3]])
    }

    //
    @Test func `records in a store -> an export and an import have them`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.saveMemberships([alice: joined()], of: .lobby)
        let contents = try StoreContents(path: folder.storePath)
        let copy = try StoreImport(path: folder.file("copy"), isBranching: false)
        try contents.forEachRecord { try copy.add($0) }
        try copy.endRoom()
        #expect(try StoreFile(path: folder.file("copy")) { 1 }.load(.lobby).memberships == [alice: joined()])
    }

    //
    @Test func `a file of version 1 -> its rooms are kept, and it has no records`() throws {
        do {
            let first = try Database(path: folder.storePath)
            try StoreSchema.migrations.run(on: first, upTo: 1)
            try first.execute("INSERT INTO rooms VALUES (1, 'lobby', 7, 1, 0, 0, 1)")
        }
        let old = try StoreContents(path: folder.storePath)
        #expect(try old.roomCount() == 1)
        try old.forEachMembership { _ in Issue.record("a file of version 1 has no records") }
        let store = try folder.store()
        #expect(try store.load(.lobby).log == LogID(rawValue: 7))
        #expect(try store.saveMemberships([alice: joined()], of: .lobby) == [])
    }
}
