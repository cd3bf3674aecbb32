import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Relays on sockets that share the rooms of a store.
@Suite struct SharedStoreTests {
    private func withRelays(
        reports: SharedStore.Reports = .withEachChange, loopCount: Int = 1,
        _ body: (SharedStore.Rooms, UInt16, UInt16) async throws -> Void
    ) async throws {
        let rooms = SharedStore.Rooms()
        try await withRelay(loopCount: loopCount, store: SharedStore(rooms, reports: reports)) { _, first in
            try await withRelay(store: SharedStore(rooms, reports: reports)) { _, second in
                try await body(rooms, first, second)
            }
        }
    }

    private func member(_ account: String, _ device: UInt64, at port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello(FrameWriter.hello(account, device: device))
        _ = try await peer.open("lobby")
        return peer
    }

    //
    @Test(arguments: [SharedStore.Reports.withEachChange, .withEachCheck])
    func `a message at one relay → delivered to the member at the other`(reports: SharedStore.Reports) async throws {
        try await withRelays(reports: reports, loopCount: 2) { _, first, second in
            let alice = try await member("alice", 1, at: first)
            let bob = try await member("bob", 2, at: second)
            #expect(try await alice.publish("hi", counter: 1) == 1)
            let message: Message = try await bob.expect()
            #expect(message.text == "hi" && message.relay?.offset == 1)
            #expect(message.relay?.sender == AccountName("alice"))
        }
    }

    //
    @Test func `the other relay was first → the message gets the next offset, and the earlier one is delivered`()
        async throws
    {
        try await withRelays(reports: .withConflictsOnly) { rooms, first, second in
            let alice = try await member("alice", 1, at: first)
            let carol = try await member("carol", 3, at: second)
            let bob = try await member("bob", 2, at: second)
            for counter in 1...5 as ClosedRange<UInt64> { _ = try await alice.publish("hi", counter: counter) }
            #expect(try await bob.publish("ho", counter: 1) == 6)
            for offset in 1...6 as ClosedRange<UInt64> {
                let message: Message = try await carol.expect()
                #expect(message.relay?.offset == offset)
            }
            #expect(rooms.conflictCount > 0)
        }
    }

    //
    @Test func `a device moves and publishes its message again → it is accepted once, at the same offset`() async throws
    {
        try await withRelays(reports: .withConflictsOnly) { rooms, first, second in
            let bob = try await member("bob", 2, at: second)
            let before = try await member("alice", 1, at: second)
            let alice = try await member("alice", 1, at: first)
            #expect(try await alice.publish("hi", counter: 7) == 1)
            #expect(try await before.publish("hi", counter: 7) == 1)
            #expect(try await before.publish("ho", counter: 8) == 2)
            for offset in 1...2 as ClosedRange<UInt64> {
                let message: Message = try await bob.expect()
                #expect(message.relay?.offset == offset)
            }
            #expect(rooms.revision("lobby").lastOffset == 2)
        }
    }

    //
    @Test func `members publish at both relays at a time → every message has an offset of its own`() async throws {
        try await withRelays { rooms, first, second in
            let count: UInt64 = 100
            let offsets = try await withThrowingTaskGroup(of: [UInt64].self) { group in
                for (number, port) in [first, second, first, second].enumerated() {
                    let peer = try await member("alice", UInt64(number + 1), at: port)
                    group.addTask {
                        var offsets: [UInt64] = []
                        for counter in 1...count { offsets.append(try await peer.publish("hi", counter: counter)) }
                        return offsets
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(offsets.sorted() == Array(1...4 * count))
            #expect(rooms.revision("lobby").lastOffset == 4 * count)
        }
    }

    @Test func `a relay has ended → its store has no reference to it`() async throws {
        weak var released: Relay?
        let rooms = SharedStore.Rooms()
        let store = SharedStore(rooms)
        try await withRelay(store: store) { relay, port in
            released = relay
            _ = try await member("alice", 1, at: port).publish("hi", counter: 1)
        }
        #expect(released == nil)
    }
}
