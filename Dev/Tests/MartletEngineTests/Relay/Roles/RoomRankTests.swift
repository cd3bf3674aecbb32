import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomRankTests {
    private static let ranks = RoomRank.allCases

    private func permitted(_ operation: RoomOperation, by rank: RoomRank) -> [RoomRank] {
        Self.ranks.filter { rank.permits(operation, on: $0) }
    }

    //
    @Test(arguments: [.kick(.bob), .ban(.bob), .mute(.bob, seconds: 1), .unmute(.bob)] as [RoomOperation])
    func `kick, ban and mute are permitted to moderators and above, of lower ranks`(_ operation: RoomOperation) {
        let table: [RoomRank: [RoomRank]] = [
            .administrator: [.outsider, .reader, .member, .moderator, .owner],
            .owner: [.outsider, .reader, .member, .moderator], .moderator: [.outsider, .reader, .member],
        ]
        for rank in Self.ranks { #expect(permitted(operation, by: rank) == table[rank] ?? [], "\(rank)") }
    }

    //
    @Test func `roles are set by owners, and below moderator by moderators`() {
        for role in RoomRole.allCases + [nil] as [RoomRole?] {
            let isLow = role != .moderator && role != .owner
            for rank in Self.ranks {
                let expected: [RoomRank] =
                    switch rank {
                    case .administrator, .owner: Self.ranks
                    case .moderator: isLow ? [.outsider, .reader, .member] : []
                    case .member, .reader, .outsider: []
                    }
                #expect(permitted(.setRole(role, of: .bob), by: rank) == expected, "\(rank)")
            }
        }
    }

    //
    @Test func `the other operations depend on the actor only`() {
        let table: [(RoomOperation, RoomRank)] = [
            (.unban(.bob), .moderator), (.invite(.bob), .moderator), (.setAccess(.closed), .owner),
            (.announce(MessageContent(text: "hear")), .administrator), (.listRoles(after: nil), .reader),
        ]
        for (operation, least) in table {
            for rank in Self.ranks {
                #expect(permitted(operation, by: rank) == (rank >= least ? Self.ranks : []), "\(operation) by \(rank)")
            }
        }
    }

    @Test func `refusals have the statuses of the specification, and reasons where a status is not sufficient`() {
        let table: [(RoomRefusal, ErrorCode, Bool)] = [
            (.forbidden, .forbidden, false), (.noMember, .noRecipient, false), (.banned, .refused, true),
            (.lastOwner, .refused, true), (.reserved, .refused, true), (.full(7), .refused, true),
            (.tooLarge, .messageTooLarge, false),
            (.busy, .serverBusy, false), (.storeUnavailable, .storeUnavailable, false),
        ]
        for (refusal, status, hasReason) in table {
            #expect(refusal.status == status && (refusal.reason != nil) == hasReason, "\(refusal)")
        }
    }
}
