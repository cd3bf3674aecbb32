import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomRolesTests {
    private static let now: UInt64 = 1_000_000

    private func roles(_ operations: RoomOperation...) throws -> RoomRoles {
        var roles = RoomRoles(owner: .alice)
        for operation in operations {
            roles = try roles.applying(operation, by: .administrator, at: Self.now) ?? roles
        }
        return roles
    }

    //
    @Test(arguments: RoomAccess.allCases)
    func `an access admits the accounts of its column`(_ access: RoomAccess) throws {
        let roles = try roles(
            .setAccess(access), .setRole(.moderator, of: .named("mo")), .setRole(.member, of: .named("mia")),
            .setRole(.reader, of: .named("ray")), .ban(.named("bad")))
        let names = ["alice", "mo", "mia", "ray", "else", "bad"]
        let entered = names.map { roles.role(of: .named($0), .all) }
        switch access {
        case .open: #expect(entered == [.owner, .moderator, .member, .reader, .member, nil])
        case .inviteOnly: #expect(entered == [.owner, .moderator, .member, .reader, nil, nil])
        case .closed: #expect(entered == [.owner, nil, nil, nil, nil, nil])
        }
        let publishes = names.map { roles.mayPublish(.named($0), .all, at: Self.now) }
        #expect(publishes == entered.map { $0 != nil && $0 != .reader })
        // An administrator enters and publishes always.
        for name in names {
            #expect(roles.role(of: .named(name), [.administer]) == .owner)
            #expect(roles.mayPublish(.named(name), [.administer], at: Self.now))
        }
    }

    //
    @Test func `a mute ends at its end and not before`() throws {
        let roles = try roles(.mute(.bob, seconds: 2))
        #expect(!roles.mayPublish(.bob, .all, at: Self.now + 1999))
        #expect(roles.mayPublish(.bob, .all, at: Self.now + 2000))
        let unmuted = try #require(try roles.applying(.unmute(.bob), by: .owner, at: Self.now))
        #expect(unmuted.mayPublish(.bob, .all, at: Self.now))
    }

    @Test func `a ban removes the role, and a role for a banned account is refused`() throws {
        let roles = try roles(.setRole(.moderator, of: .bob), .ban(.bob))
        #expect(roles[.bob] == standing(.bob) { $0.isBanned = true })
        for operation in [.invite(.bob), .setRole(.member, of: .bob)] as [RoomOperation] {
            #expect(throws: RoomRefusal.banned) { try roles.applying(operation, by: .owner, at: Self.now) }
        }
        // No role is what it has.
        #expect(try roles.applying(.setRole(nil, of: .bob), by: .owner, at: Self.now) == nil)
        let after = try #require(try roles.applying(.unban(.bob), by: .owner, at: Self.now))
        #expect(after[.bob] == nil && after.role(of: .bob, .all) == .member)
    }

    private func standing(_ account: AccountName, _ change: (inout RoomStanding) -> Void) -> RoomStanding {
        var standing = RoomStanding(account)
        change(&standing)
        return standing
    }

    @Test func `an operation that changes nothing gives no other roles`() throws {
        let roles = try roles(.setRole(.reader, of: .bob))
        let operations: [RoomOperation] = [
            .invite(.bob), .invite(.alice), .unban(.bob), .unmute(.bob), .setRole(.reader, of: .bob), .setAccess(.open),
            .setRole(nil, of: .named("else")), .kick(.bob),
        ]
        for operation in operations {
            #expect(try roles.applying(operation, by: .owner, at: Self.now) == nil, "\(operation)")
        }
    }

    //
    @Test func `the last owner keeps its role, unless an administrator takes it`() throws {
        let roles = try roles()
        #expect(throws: RoomRefusal.lastOwner) {
            try roles.applying(.setRole(.member, of: .alice), by: .owner, at: Self.now)
        }
        #expect(try roles.applying(.ban(.alice), by: .administrator, at: Self.now) != nil)
        let two = try #require(try roles.applying(.setRole(.owner, of: .bob), by: .owner, at: Self.now))
        #expect(try two.applying(.setRole(nil, of: .alice), by: .owner, at: Self.now) != nil)
    }

    @Test func `mutes that have ended are removed with the next change`() throws {
        let roles = try roles(.mute(.bob, seconds: 1), .mute(.named("eve"), seconds: 10))
        let next = try #require(try roles.applying(.invite(.named("new")), by: .owner, at: Self.now + 1000))
        #expect(next[.bob] == nil && next[.named("eve")] != nil)
    }

    // Specs/hostile.md row 58
    @Test func `row 58, each kind of standing has its bound, and one less makes room`() throws {
        let kinds: [(Int, (AccountName) -> RoomOperation)] = [
            (RoomRoles.maxRoleCount - 1, { .invite($0) }), (RoomRoles.maxBanCount, { .ban($0) }),
            (RoomRoles.maxMuteCount, { .mute($0, seconds: 60) }),
        ]
        for (count, operation) in kinds {
            var writer = TLVWriter()
            writer.append(.access, uint8: 0)
            for number in 0..<count {
                var standing = RoomStanding(.named("a\(10_000 + number)"))
                switch operation(.bob) {
                case .invite: standing.role = .member
                case .ban: standing.isBanned = true
                default: standing.mutedUntil = .max
                }
                standing.encode(into: &writer)
            }
            RoomStanding(.named("owner"), role: .owner).encode(into: &writer)
            let roles = try RoomRoles(decoding: [1] + writer.bytes)
            #expect(throws: RoomRefusal.full(4096)) { try roles.applying(operation(.bob), by: .owner, at: Self.now) }
            let freed: RoomOperation =
                switch operation(.bob) {
                case .invite: .setRole(nil, of: .named("a10000"))
                case .ban: .unban(.named("a10000"))
                default: .unmute(.named("a10000"))
                }
            let next = try #require(try roles.applying(freed, by: .owner, at: Self.now))
            #expect(try next.applying(operation(.bob), by: .owner, at: Self.now) != nil)
        }
    }

    // MARK: Lists

    @Test func `standings are listed in the order of their names' bytes, behind the named one`() throws {
        let roles = try roles(.invite(.named("b")), .invite(.named("Z")), .invite(.named("é")))
        #expect(roles.standings(after: nil, maxCount: 9).map(\.account.text) == ["Z", "alice", "b", "é"])
        #expect(roles.standings(after: .alice, maxCount: 1).map(\.account.text) == ["b"])
        #expect(roles.standings(after: .named("aa"), maxCount: 2).map(\.account.text) == ["alice", "b"])
        #expect(roles.standings(after: .named("é"), maxCount: 2).isEmpty)
    }

    // MARK: Stored form

    //
    @Test func `the stored form gives the same roles`() throws {
        let roles = try roles(
            .setAccess(.closed), .ban(.named("bad")), .mute(.bob, seconds: 5), .setRole(.reader, of: .bob),
            .setRole(.moderator, of: .named("mo")))
        let decoded = try RoomRoles(decoding: roles.encoded())
        #expect(decoded.encoded() == roles.encoded())
        #expect(decoded.access == .closed && decoded.count == 4)
        #expect(decoded.byteCount == roles.byteCount)
        // The counts are those of the decoded accounts.
        #expect(throws: RoomRefusal.lastOwner) {
            try decoded.applying(.setRole(nil, of: .alice), by: .owner, at: Self.now)
        }
    }

    @Test func `another version, a truncated form and no bytes are typed errors`() throws {
        let bytes = RoomRoles(owner: .alice).encoded()
        #expect(throws: RoomRolesError.unknownVersion(nil)) { try RoomRoles(decoding: []) }
        #expect(throws: RoomRolesError.unknownVersion(2)) { try RoomRoles(decoding: [2] + bytes.dropFirst()) }
        // Behind the version and the access the form is whole.
        for count in 1..<bytes.count where count != 1 + TLVLimits.headByteCount + 1 {
            #expect(throws: RoomRolesError.self) { try RoomRoles(decoding: Array(bytes.prefix(count))) }
        }
        #expect(throws: RoomRolesError.tooLong) {
            try RoomRoles(decoding: [UInt8](repeating: 1, count: RoomRoles.maxByteCount + 1))
        }
        #expect(throws: RoomRolesError.malformed(.missingField(.access))) { try RoomRoles(decoding: [1]) }
    }

    @Test(arguments: [["b", "a"], ["a", "a"]])
    func `accounts out of order or repeated are an error`(_ names: [String]) {
        var writer = TLVWriter()
        writer.append(.access, uint8: 0)
        for name in names { RoomStanding(.named(name), role: .member).encode(into: &writer) }
        #expect(throws: RoomRolesError.malformed(.invalidValue(.standing))) {
            try RoomRoles(decoding: [1] + writer.bytes)
        }
    }

    @Test func `an account without anything, a second access and too many accounts are errors`() {
        var writer = TLVWriter()
        writer.append(.access, uint8: 0)
        let start = [1] + writer.bytes
        RoomStanding(.alice).encode(into: &writer)
        #expect(throws: RoomRolesError.malformed(.invalidValue(.standing))) {
            try RoomRoles(decoding: [1] + writer.bytes)
        }
        #expect(throws: RoomRolesError.malformed(.duplicateField(.access))) {
            try RoomRoles(decoding: start + start.dropFirst())
        }
        let kinds: [(inout RoomStanding) -> Void] = [
            { $0.role = .member }, { $0.isBanned = true }, { $0.mutedUntil = 1 },
        ]
        for kind in kinds {
            writer.removeAll()
            for number in 0...RoomRoles.maxRoleCount {
                var standing = RoomStanding(.named("a\(10_000 + number)"))
                kind(&standing)
                standing.encode(into: &writer)
            }
            #expect(throws: RoomRolesError.tooManyAccounts) { try RoomRoles(decoding: start + writer.bytes) }
        }
    }

    @Test func `the largest stored form is within its bound`() {
        let most = RoomRoles.maxRoleCount + RoomRoles.maxBanCount + RoomRoles.maxMuteCount
        #expect(most * (TLVLimits.headByteCount + 10 + AccountName.maxByteCount) + 8 <= RoomRoles.maxByteCount)
    }
}
