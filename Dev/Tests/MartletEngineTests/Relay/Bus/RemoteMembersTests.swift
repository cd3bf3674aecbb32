import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The members of a room at other relays.
@Suite struct RemoteMembersTests {
    private static let two = RelayID(rawValue: 2)
    private static let three = RelayID(rawValue: 3)

    private func item(_ count: UInt32, isWhole: Bool = false, _ entries: BusMember...) -> BusMembers {
        BusMembers(room: .lobby, count: count, isWhole: isWhole, entries: entries)
    }

    //
    @Test func `an account at two relays → its best presence, until the last relay is away`() {
        var remote = RemoteMembers()
        remote.take(item(1, BusMember(.alice, .away)), from: Self.two, number: 1)
        #expect(remote.presence(of: .alice) == .away && remote.relay(of: .alice) == nil)
        remote.take(item(1, BusMember(.alice, .online)), from: Self.three, number: 1)
        #expect(remote.presence(of: .alice) == .online && remote.relay(of: .alice) == Self.three && remote.count == 2)
        remote.remove(Self.three)
        #expect(remote.presence(of: .alice) == .away)
        remote.take(item(0, BusMember(.alice, .left)), from: Self.two, number: 2)
        #expect(remote.presence(of: .alice) == .left && remote.count == 0)
    }

    //
    @Test func `all members → they replace earlier ones and complete the relay`() {
        var remote = RemoteMembers()
        remote.take(item(1, BusMember(.alice, .online)), from: Self.two, number: 3)
        #expect(!remote.isComplete([Self.two: 3]) && remote.isComplete([:]))
        remote.take(item(1, isWhole: true, BusMember(.bob, .online)), from: Self.two, number: 4)
        #expect(remote.accounts == [.bob] && remote.isComplete([Self.two: 4]))
        #expect(!remote.isComplete([Self.two: 5]) && !remote.isComplete([Self.two: 4, Self.three: 1]))
    }

    //
    @Test func `items → the accounts whose presence may change, which progress alone does not`() {
        var remote = RemoteMembers()
        remote.take(item(2, BusMember(.alice, .online), BusMember(.bob, .away)), from: Self.two, number: 1)
        let entries = [
            BusMember(.alice, .online, delivered: 3), BusMember(.bob, .online), BusMember(.carol, .left),
        ]
        let changed = BusMembers(room: .lobby, count: 2, isWhole: false, entries: entries)
        #expect(remote.accounts(in: changed, from: Self.two) == [.bob])
        #expect(remote.accounts(in: changed, from: Self.three) == [.alice, .bob])
        #expect(remote.accounts(in: item(1, isWhole: true, entries[1]), from: Self.two) == [.alice, .bob])
        // All members, of which those that are left out are away.
        let unchanged = BusMember(.bob, .away)
        #expect(remote.accounts(in: item(1, isWhole: true, unchanged), from: Self.two) == [.alice, .bob])
    }

    //
    @Test func `changes → progress is due after an interval, presence and a last report at once`() {
        let delay = RemoteMembers.maxProgressDelay
        var remote = RemoteMembers()
        let start = Instant(nanoseconds: 1_000_000_000)
        #expect(remote.deadline == nil && !remote.isDue(isLast: true, now: start))
        remote.noteChange(of: .alice, on: DeviceID(rawValue: 1))
        let isDue = remote.isDue(isLast: false, now: start)
        #expect(isDue)
        _ = remote.takeChanges(count: 1, now: start)
        remote.noteChange(of: .alice, on: DeviceID(rawValue: 1))
        #expect(remote.deadline == start + delay && !remote.isDue(isLast: false, now: start))
        #expect(remote.isDue(isLast: true, now: start) && remote.isDue(isLast: false, now: start + delay))
        remote.noteChange(of: .bob)
        #expect(remote.isDue(isLast: false, now: start) && remote.deadline == nil)
        let accounts = remote.takeChanges(count: 1, now: start).accounts.map(\.0)
        #expect(accounts == [.alice, .bob])
        #expect(remote.deadline == nil && !remote.isDue(isLast: true, now: start + delay))
    }

    //
    @Test func `more members than presence is reported for → their number only`() {
        var remote = RemoteMembers()
        remote.take(item(1, BusMember(.alice, .online)), from: Self.two, number: 1)
        remote.take(item(257, BusMember(.bob, .online)), from: Self.two, number: 2)
        #expect(remote.accounts == [] && remote.count == 257)
    }

    //
    @Test func `progress that waits → the highest offsets, taken once`() {
        var remote = RemoteMembers()
        remote.wait(BusMember(.alice, .online, delivered: 7, read: 2))
        remote.wait(BusMember(.alice, .online, delivered: 6, read: 5))
        let waiting = remote.takeWaiting()
        #expect(waiting.map(\.delivered) == [7] && waiting.map(\.read) == [5] && !remote.hasWaiting)
    }
}
