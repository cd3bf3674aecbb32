import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Specs/hostile.md row 29.
@Suite("A store failure resets the session and confirms nothing")
struct StoreFailureTests {
    //
    @Test("failed append resets the session, delivers nothing, and keeps the connection")
    func full() async throws {
        let store = SlowStore()
        try await withRelay(store: store) { relay, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open(noLocal: true)
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            store.setFails(true)
            await alice.write { writer in (1...3).flatMap { writer.text("lost", counter: $0, on: .first) } }
            let reset: Reset = try await alice.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            #expect(await relay.statistics.messagesStored == 0)

            // The store recovers and assigns the same offsets to the same messages.
            store.setFails(false)
            try await alice.open(on: .second, noLocal: true)
            for counter in 1...3 as ClosedRange<UInt64> {
                #expect(try await alice.publish("lost", counter: counter, on: .second) == counter)
            }
            for offset in 1...3 as ClosedRange<UInt64> {
                #expect(try await bob.expect(Message.self).relay?.offset == offset)
            }
        }
    }

    // R-163, Specs/hostile.md row 97
    @Test("disk without room beside the reserve resets the session, until there is room, and reports both")
    func reserve() async throws {
        let free = Guarded(UInt64(500))
        let disk = DiskSpace(reserve: 4000) { (free.withLock { $0 }, 1_000_000) }
        let (levels, report) = AsyncStream<DiskSpace.Level>.makeStream()
        try await withRelay(disk: disk) { event in
            if case .diskSpaceChanged(let level, _) = event { report.yield(level) }
        } _: { relay, port in
            var changes = levels.makeAsyncIterator()
            let first = await changes.next()
            #expect(first == .exhausted)
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open(noLocal: true)
            await alice.write { $0.text("lost", counter: 1, on: .first) }
            let reset: Reset = try await alice.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            #expect(await relay.statistics.messagesStored == 0)

            free.withLock { $0 = 20_000 }
            let second = await changes.next()
            #expect(second == .ample)
            try await alice.open(on: .second, noLocal: true)
            #expect(try await alice.publish("kept", counter: 1, on: .second) == 1)
        }
    }

    //
    @Test("lost log resets the room, which opens again with another log")
    func logLost() async throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxRooms = 1
        let store = InMemoryStore(bounds: bounds)
        try await withRelay(store: store) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            let former = try await alice.open(noLocal: true)
            #expect(try await alice.publish("kept", counter: 1, on: .first) == 1)
            _ = store.load(RoomName("another"))
            await alice.write { $0.text("lost", counter: 2, on: .first) }
            let reset: Reset = try await alice.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            let opened = try await alice.open(on: .second, noLocal: true)
            #expect(opened.head == 0 && opened.log != nil && opened.log != former.log)
            #expect(try await alice.publish("lost", counter: 2, on: .second) == 1)
        }
    }

    //
    @Test("failed load resets the session, and the next open succeeds")
    func locked() async throws {
        let store = BrokenStore()
        try await withRelay(store: store) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            store.breaks(.load)
            await peer.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            let reset: Reset = try await peer.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            store.breaks(nil)
            try await peer.open(on: .second)
        }
    }

    @Test("failed read resets the reader's session only")
    func corrupt() async throws {
        let store = BrokenStore()
        // More than a room keeps in memory.
        let text = String(repeating: "x", count: 8000)
        try await withRelay(store: store) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open(noLocal: true)
            for counter in 1...200 as ClosedRange<UInt64> { try await alice.publish(text, counter: counter) }
            store.breaks(.read)
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            let reset: Reset = try await bob.next()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
            #expect(try await alice.publish("and on", counter: 201) == 201)
            store.breaks(nil)
            try await bob.open(on: .second)
            #expect(try await bob.next(Message.self).relay?.offset == 1)
        }
    }
}
