import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Relay driver: batches of a turn")
struct RelayDriverTests {
    @Test("messages of one read cause one append and one accepted frame")
    func oneAppend() async throws {
        let store = CountingStore()
        try await withRelay(store: store) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open(noLocal: true)
            await peer.write { writer in
                (1...50).flatMap { writer.text("one of fifty", counter: $0, on: .first) }
            }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs == [AcceptedRun(firstCounter: 1, count: 50, firstOffset: 1)])
            #expect(store.appends == [50])
        }
    }

    //
    @Test("messages that arrive during an append form the next batch")
    func groupCommit() async throws {
        let store = SlowStore()
        try await withRelay(store: store) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open(noLocal: true)
            store.closeGate()
            for counter in 1...5 as ClosedRange<UInt64> {
                await peer.write {
                    $0.text("\(counter)", counter: counter, on: .first) + $0.frame(Ping(nonce: counter))
                }
                let pong: Pong = try await peer.next()
                #expect(pong.nonce == counter)
            }
            store.openGate()
            var accepted: [UInt64] = []
            while accepted.count < 5 { accepted += try await peer.next(Accepted.self).runs.flatMap(\.counters) }
            #expect(store.appends == [[1], [2, 3, 4, 5]])
        }
    }

    // R-26, Specs/hostile.md row 29
    @Test("failing store resets the session without acceptance, and a new session continues after it recovers")
    func failingStore() async throws {
        let store = SlowStore()
        let log = EventLog()
        try await withRelay(store: store, onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open(noLocal: true)
            store.setFails(true)
            await peer.write { $0.text("lost", counter: 1, on: .first) }
            let reset: Reset = try await peer.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            store.setFails(false)
            try await peer.open(on: .second, noLocal: true)
            #expect(try await peer.publish("lost", counter: 1, on: .second) == 1)
        }
        let failures = log.all.filter { if case .storeFailed = $0 { true } else { false } }
        #expect(failures.count == 1)
    }

    //
    @Test("rooms with members are passed to the store, those without are not")
    func touchedRooms() async throws {
        let store = TouchedStore()
        try await withRelay(touchInterval: .milliseconds(1), store: store) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open()
            var touched = store.touched.stream.makeAsyncIterator()
            #expect(await touched.next() == [RoomName("lobby")])
        }
    }

    //
    @Test("message carries the relay's wall clock in milliseconds since 1970")
    func wallClock() async throws {
        try await withRelay { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open()
            await peer.write { $0.text("when?", counter: 1, on: .first) }
            let acceptedAt = try #require(try await peer.next(Message.self).relay?.acceptedAt)
            // After 2025 and before 2100.
            #expect(acceptedAt > 1_735_000_000_000 && acceptedAt < 4_102_000_000_000)
        }
    }
}
