import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RoomMemberTests {
    private let key = MemberKey(link: LinkKey(slot: 1, generation: 1), session: SessionID(rawValue: 1))

    //
    @Test func `acceptances of neighbours are one run`() {
        var member = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 0, noLocal: false)
        for (counter, offset) in [(1, 5), (2, 6), (4, 7), (9, 0), (10, 0), (11, 8)] as [(UInt64, UInt64)] {
            member.noteAccepted(counter, at: offset)
        }
        #expect(
            member.accepted.map { [$0.firstCounter, UInt64($0.count), $0.firstOffset] }
                == [[1, 2, 5], [4, 1, 7], [9, 1, 0], [10, 1, 0], [11, 1, 8]])
    }

    @Test func `a member receives when nothing holds it back and it has credit`() {
        let member = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 0, noLocal: false)
        #expect(member.mayReceive)
        for hinder in [{ $0.isSuspended = true }, { $0.isHeldBack = true }, { $0.isReading = true }, { $0.credit = 0 }]
            as [(inout RoomMember) -> Void]
        {
            var other = member
            hinder(&other)
            #expect(!other.mayReceive)
        }
    }
}
