import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomMemberTests {
    private let key = MemberKey(link: LinkKey(slot: 1, generation: 1), session: SessionID(rawValue: 1))

    //
    @Test func `consecutive accepted messages form one run`() {
        var member = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 0, noLocal: false)
        for (counter, offset) in [(1, 5), (2, 6), (4, 7), (9, 0), (10, 0), (11, 8)] as [(UInt64, UInt64)] {
            member.noteAccepted(AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset))
        }
        #expect(
            member.accepted.map { [$0.firstCounter, UInt64($0.count), $0.firstOffset] }
                == [[1, 2, 5], [4, 1, 7], [9, 1, 0], [10, 1, 0], [11, 1, 8]])
    }

    @Test func `a member wants the next message unless it is held back or without credit`() {
        let member = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 4, noLocal: false)
        #expect(member.wanted(upTo: 5) == 5 && member.wanted(upTo: 4) == nil)
        for hinder
            in [
                { $0.isSuspended = true }, { $0.isBacklogged = true }, { $0.isReading = true },
                { $0.isUnfinished = true },
                { $0.credit = 0 },
            ] as [(inout RoomMember) -> Void]
        {
            var other = member
            hinder(&other)
            #expect(other.wanted(upTo: 5) == nil)
        }
    }

    @Test func `a member takes a row up to its own device's messages, its credit and the available bytes`() {
        var alice = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 0, noLocal: true)
        var entries: [LogEntry] = []
        for (offset, who) in [(1, "alice"), (2, "alice"), (3, "bob"), (4, "bob"), (5, "alice"), (6, "bob")] {
            entries.append(
                LogEntry(
                    offset: UInt64(offset), sender: RoomScript.who(who).account, device: RoomScript.who(who).device,
                    counter: UInt64(offset), acceptedAt: 0, body: EncodedBody([UInt8](repeating: 0, count: 10))))
        }
        var room = 100
        // Messages of her own device are skipped, up to the next one of another device.
        #expect(alice.take(entries[...], &room) == 2..<4)
        #expect(alice.cursor == 4 && room == 80 && alice.credit == RoomMember.creditByteCount - 20)
        #expect(alice.take(entries[4...4], &room) == 5..<5 && alice.cursor == 5)
        var bob = RoomMember(key: key, who: RoomScript.who("bob"), cursor: 0, noLocal: false)
        bob.credit = 15
        #expect(bob.take(entries[...], &room) == 0..<2 && bob.cursor == 2 && bob.credit == -5)
        bob.credit = 1000
        room = 10
        #expect(bob.take(entries[2...], &room) == 2..<3 && bob.cursor == 3 && room == 0)
        #expect(bob.take(entries[3...], &room) == 3..<3 && bob.cursor == 3)
    }

    @Test func `messages read from the store are taken in rows, up to a gap or the member's own messages`() {
        var alice = RoomMember(key: key, who: RoomScript.who("alice"), cursor: 0, noLocal: true)
        let entries = [(2, "bob"), (3, "bob"), (5, "bob"), (6, "alice"), (7, "alice"), (8, "bob")].map { offset, who in
            LogEntry(
                offset: UInt64(offset), sender: RoomScript.who(who).account, device: RoomScript.who(who).device,
                counter: UInt64(offset), acceptedAt: 0, body: EncodedBody([UInt8](repeating: 0, count: 10)))
        }
        var rows: [[Int]] = []
        var start = 0
        while start < entries.count {
            let row = alice.takeRow(of: entries, from: start)
            rows.append([start, row.end, row.isExcluded ? 1 : 0, Int(alice.cursor)])
            start = row.end
        }
        #expect(rows == [[0, 2, 0, 3], [2, 3, 0, 5], [3, 5, 1, 7], [5, 6, 0, 8]])
        #expect(alice.credit == RoomMember.creditByteCount - 40)
    }
}
