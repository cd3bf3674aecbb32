import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Requests to the relay")
struct RelayMethodTests {
    private func ask(_ peer: any Peer, _ method: String, _ correlation: UInt64 = 1) async throws -> Response {
        await peer.send(
            Request(correlation: correlation, method: MethodName(method)!, deadline: .seconds(60)), on: .first)
        return try await peer.expect()
    }

    //
    @Test("members returns the accounts in the room")
    func members() async throws {
        try await withRelay { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            let response = try await ask(alice, RelayMethod.members.name.text, 77)
            #expect(response.correlation == 77)
            #expect(response.status == .none)
            let content = try #require(response.content)
            #expect(try Opened(parsing: content.rawBytes).members.map(\.text) == ["alice", "bob"])
        }
    }

    //
    @Test("head returns the offsets of the log")
    func head() async throws {
        try await withRelay(store: InMemoryStore(maxMessagesPerRoom: 2)) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open(noLocal: true)
            for counter in 1...5 as ClosedRange<UInt64> { try await alice.publish("x", counter: counter) }
            let content = try #require(try await ask(alice, "head").content)
            #expect(try Opened(parsing: content.rawBytes).head == 5)
            #expect(try Opened(parsing: content.rawBytes).members == [])
            #expect(try RoomRetention(parsing: content) == RoomRetention(maxCount: 2, maxByteCount: 8 << 20))
        }
    }

    //
    @Test("other method without a handler returns unknownMethod")
    func unknown() async throws {
        try await withRelay { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            #expect(try await ask(alice, "roll").status == .unknownMethod)
        }
    }
}
