import MartletWire
import Testing

@Suite struct RoomRosterTests {
    private static func standing(_ name: String, _ change: (inout RoomStanding) -> Void = { _ in }) -> RoomStanding {
        var standing = RoomStanding(AccountName(name)!)
        change(&standing)
        return standing
    }

    //
    @Test func `a roster gives the same roster, with roles, bans and mutes`() throws {
        let roster = RoomRoster(
            ownRole: .moderator, access: .inviteOnly,
            standings: [
                Self.standing("ada") { $0.role = .owner }, Self.standing("bob") { $0.isBanned = true },
                Self.standing("eve") {
                    $0.role = .reader
                    $0.mutedUntil = .max
                },
            ])
        #expect(try RoomRoster(parsing: roster.encode()) == roster)
        #expect(!roster.isPartial)
    }

    @Test func `the largest roster fits into the smallest message`() throws {
        let standings = (0..<RoomRoster.maxCount).map { number in
            let digits = "\(number)"
            return Self.standing(digits + String(repeating: "x", count: AccountName.maxByteCount - digits.count))
        }
        let roster = RoomRoster(ownRole: .owner, access: .open, standings: standings)
        #expect(roster.isPartial)
        #expect(roster.encode().count + 512 < 16_384)
        #expect(try RoomRoster(parsing: roster.encode()) == roster)
    }

    @Test func `a roster of more accounts than the maximum is refused`() {
        var bytes = RoomRoster(ownRole: .owner, access: .open, standings: []).encode()
        var writer = TLVWriter()
        let standing = [UInt8](repeating: 0, count: 10) + [97]
        for _ in 0...RoomRoster.maxCount { writer.append(.standing, bytes: standing) }
        bytes += writer.bytes
        #expect(throws: WireError.tooManyTLVs(limit: RoomRoster.maxCount)) { try RoomRoster(parsing: bytes) }
    }

    @Test func `a roster without a role or an access is refused`() {
        #expect(throws: WireError.missingField(.role)) { try RoomRoster(parsing: []) }
        var writer = TLVWriter()
        writer.append(.role, uint8: 1)
        #expect(throws: WireError.missingField(.access)) { try RoomRoster(parsing: writer.bytes) }
    }

    @Test(arguments: [
        [], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 97], [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 97],
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 97], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32],
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 97, count: 129),
    ])
    func `a standing that is too short, or has an invalid role, ban or name, is refused`(_ value: [UInt8]) {
        var writer = TLVWriter()
        writer.append(.role, uint8: 1)
        writer.append(.access, uint8: 0)
        writer.append(.standing, bytes: value)
        #expect(throws: WireError.invalidValue(.standing)) { try RoomRoster(parsing: writer.bytes) }
    }
}
