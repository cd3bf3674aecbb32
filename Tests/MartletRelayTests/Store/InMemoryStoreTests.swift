import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("In-memory store")
struct InMemoryStoreTests {
    private let room = RoomName("lobby")

    private func entries(_ offsets: ClosedRange<UInt64>, device: UInt64 = 1, byteCount: Int = 10) -> [LogEntry] {
        offsets.map {
            LogEntry(
                offset: $0, sender: AccountName("alice"), device: DeviceID(rawValue: device), counter: $0 * 10,
                acceptedAt: 0, body: EncodedBody([UInt8](repeating: 0, count: byteCount)))
        }
    }

    /// Loads a room as a relay does, and appends to it.
    private func write(_ new: [LogEntry], to name: RoomName? = nil, in store: InMemoryStore) throws {
        _ = store.load(name ?? room)
        try store.append(new, to: name ?? room)
    }

    private func wholeLog(of store: InMemoryStore) -> RoomHistory {
        store.read(ReadRange(from: 1, maxCount: .max, maxByteCount: .max), of: room)
    }

    //
    @Test("new room loads empty and keeps its log identity")
    func empty() throws {
        let store = InMemoryStore()
        let snapshot = store.load(room)
        #expect(snapshot.lastOffset == 0 && snapshot.firstOffset == 1 && snapshot.devices.isEmpty)
        #expect(wholeLog(of: store).entries.isEmpty)
        #expect(snapshot.log != nil && store.load(room).log == snapshot.log && store.roomCount == 1)
    }

    //
    @Test("read returns a range within both bounds, at least one message")
    func reading() throws {
        let store = InMemoryStore()
        try write(entries(1...100), in: store)
        func offsets(_ from: UInt64, _ count: Int, _ bytes: Int) -> [UInt64] {
            store.read(ReadRange(from: from, maxCount: count, maxByteCount: bytes), of: room).entries.map(\.offset)
        }
        #expect(offsets(1, 3, 1000) == [1, 2, 3])
        #expect(offsets(99, 10, 1000) == [99, 100])
        #expect(offsets(50, 10, 35) == [50, 51, 52])
        #expect(offsets(50, 10, 1) == [50])
        #expect(offsets(101, 10, 1000).isEmpty)
        #expect(offsets(.max, 10, 1000).isEmpty)
    }

    //
    @Test("erased message loses its body and its bytes, and nothing else")
    func erasing() throws {
        let store = InMemoryStore()
        let text = Message.textContent(String(repeating: "x", count: 500))
        let sender = AccountName("alice")
        let device = DeviceID(rawValue: 1)
        let new = (UInt64(1)...3).map { number in
            let body = Message.encodeClient(counter: number, kind: .text, content: text)
            return LogEntry(
                offset: number, sender: sender, device: device, counter: number, acceptedAt: 0,
                body: EncodedBody(body))
        }
        try write(Array(new[..<2]), in: store)
        let before = store.byteCount
        let erasure = MessageErasure(offset: 1, id: MessageID(sender: sender, device: device, counter: 1))
        try store.append([new[2]], erasing: [erasure], to: room)
        let kinds = wholeLog(of: store).entries.map { MessageView.kind(in: $0.body.rawBytes) }
        #expect(kinds == [.erased, .text, .text] && store.byteCount < before + 500)
    }

    //
    @Test("message bound evicts the oldest messages and keeps their watermarks")
    func maxMessages() throws {
        let store = InMemoryStore(maxMessagesPerRoom: 10)
        try write(entries(1...5, device: 1), in: store)
        try write(entries(6...25, device: 2), in: store)
        let snapshot = store.load(room)
        #expect(snapshot.lastOffset == 25)
        #expect(snapshot.firstOffset == 16)
        let alice = AccountName("alice")
        #expect(
            snapshot.devices.mapValues(\.watermark) == [
                DeviceKey(account: alice, device: DeviceID(rawValue: 1)): 50,
                DeviceKey(account: alice, device: DeviceID(rawValue: 2)): 250,
            ])
        let history = wholeLog(of: store)
        #expect(history.firstOffset == 16)
        #expect(history.entries.map(\.offset) == Array(16...25))
    }

    @Test("byte bound evicts the oldest messages but never the newest")
    func maxBytes() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCountPerRoom = 100
        let store = InMemoryStore(bounds: bounds)
        try write(entries(1...20), in: store)
        #expect(store.load(room).firstOffset == 11)
        try write(entries(21...21, byteCount: 1000), in: store)
        #expect(store.load(room).firstOffset == 21)
        #expect(wholeLog(of: store).entries.map(\.offset) == [21])
    }

    //
    @Test("room bound removes the least recently used room, with or without messages")
    func maxRooms() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxRooms = 2
        let store = InMemoryStore(bounds: bounds)
        let (old, empty) = (RoomName("old"), RoomName("empty"))
        try write(entries(1...1), to: old, in: store)
        let log = store.load(empty).log
        try write(entries(1...1), in: store)
        #expect(store.roomCount == 2 && store.load(empty).log == log && store.load(room).lastOffset == 1)
        #expect(store.load(old).lastOffset == 0 && store.roomCount == 2 && store.load(empty).log != log)
    }

    //
    @Test("total byte bound evicts the oldest messages of the least recently used room first")
    func maxBytesOfAll() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 40_000
        let store = InMemoryStore(bounds: bounds)
        let (old, read) = (RoomName("old"), RoomName("read"))
        for name in [old, read] {
            for offset in 1...10 as ClosedRange<UInt64> {
                try write(entries(offset...offset, byteCount: 1000), to: name, in: store)
            }
        }
        _ = store.read(ReadRange(from: 1, maxCount: 1, maxByteCount: 1), of: read)
        for offset in 1...20 as ClosedRange<UInt64> {
            try write(entries(offset...offset, byteCount: 1000), in: store)
            #expect(store.byteCount <= 40_000)
        }
        let first = store.load(old).firstOffset
        #expect(first > 1 && first <= 11)
        #expect(store.load(read).firstOffset == 1 && store.load(room).firstOffset == 1)
        // The watermarks outlive the evicted messages.
        #expect(store.load(old).devices.count == 1 && store.load(old).lastOffset == 10)
        for offset in 21...60 as ClosedRange<UInt64> {
            try write(entries(offset...offset, byteCount: 1000), in: store)
        }
        #expect(store.load(old).firstOffset == 11 && store.load(read).firstOffset == 11)
        #expect(store.load(room).firstOffset > 1 && store.byteCount <= 40_000)
    }

    // R-48, Specs/hostile.md row 48
    @Test("20,000 rooms written once stay within the byte bound, and the last is writable")
    func manyRooms() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 1 << 20
        let store = InMemoryStore(bounds: bounds)
        for number in 1...20_000 { try write(entries(1...1), to: RoomName("room-\(number)")!, in: store) }
        #expect(store.byteCount <= 1 << 20 && store.roomCount > 600)
        #expect(store.load(RoomName("room-20000")).lastOffset == 1 && store.load(RoomName("room-1")).lastOffset == 0)
    }

    //
    @Test("rooms loaded together at the byte bound all accept messages")
    func openedTogether() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 1 << 20
        let store = InMemoryStore(bounds: bounds)
        for batch in 0..<20 {
            let names = (0..<120).map { RoomName("room-\(batch)-\($0)")! }
            for name in names { _ = store.load(name) }
            for name in names { try store.append(entries(1...1), to: name) }
        }
    }

    //
    @Test("room in use outlives later rooms and keeps its log")
    func inUse() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 1 << 20
        let store = InMemoryStore(bounds: bounds)
        let log = store.load(room).log
        for number in 1...5000 as ClosedRange<UInt64> {
            try write(entries(1...1), to: RoomName("room-\(number)")!, in: store)
            if number % 500 == 0 { try store.append(entries(number / 500...number / 500), to: room) }
        }
        #expect(store.load(room).lastOffset == 10 && store.load(room).log == log)
    }

    //
    @Test("removed room starts another log, and appends to the former throw LogLost")
    func forgotten() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxRooms = 1
        let store = InMemoryStore(bounds: bounds)
        let log = store.load(room).log
        try store.append(entries(1...3), to: room)
        #expect(store.load(room).log == log)
        _ = store.load(RoomName("other"))
        #expect { try store.append(entries(4...4), to: room) } throws: { "\($0)" == "logLost" }
        #expect(wholeLog(of: store).entries.isEmpty)
        let again = store.load(room)
        #expect(again.log != nil && again.log != log && again.lastOffset == 0 && again.devices.isEmpty)
    }

    //
    @Test("room whose devices fill the store throws full, other rooms accept messages")
    func full() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 2000 + 16 * 160
        let store = InMemoryStore(bounds: bounds)
        for number in 1...16 as ClosedRange<UInt64> {
            try write(entries(number...number, device: number), in: store)
        }
        #expect(throws: InMemoryStore.Failure.full) { try store.append(entries(17...17), to: room) }
        try write(entries(1...1), to: RoomName("other"), in: store)
        #expect(store.byteCount <= bounds.maxByteCount)
    }

    //
    @Test("gap or repetition in the offsets throws outOfOrder and stores nothing")
    func outOfOrder() throws {
        let store = InMemoryStore()
        try write(entries(1...3), in: store)
        for wrong in [3...4, 5...6] as [ClosedRange<UInt64>] {
            #expect(throws: InMemoryStore.Failure.outOfOrder(lastOffset: 3)) {
                try store.append(entries(wrong), to: room)
            }
        }
        #expect(store.load(room).lastOffset == 3)
    }

    //
    @Test("a page has the given progress if the store has less, up to the last offset of the log")
    func pageProgress() throws {
        let store = InMemoryStore()
        let bob = AccountName("bob")
        try write(entries(1...5), in: store)
        _ = store.saveMemberships([bob: MembershipRecord(isJoined: true, changedAt: 1)], of: room)
        let progress = [room: AccountProgress(delivered: 90, read: 3)]
        let page = store.memberships(of: bob, .page(after: nil, maxCount: 1, progress: progress)).map(\.entry)
        #expect(page.map(\.read) == [3] && page.map(\.delivered) == [5] && page.map(\.unreadCount) == [2])
    }

    //
    @Test func `membership records beyond the bound of all rooms → refused, and a removed one makes room`() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxMembershipCount = 3
        let store = InMemoryStore(bounds: bounds)
        let attic = RoomName("attic")
        let (alice, bob, carol) = (AccountName("alice"), AccountName("bob"), AccountName("carol"))
        let invited = MembershipRecord(isJoined: false, changedAt: 1)
        let joined = MembershipRecord(isJoined: true, changedAt: 2)
        #expect(store.saveMemberships([alice: joined, bob: invited], of: room).isEmpty)
        #expect(store.saveMemberships([carol: invited, bob: invited], of: attic) == [carol])
        #expect(store.saveMemberships([bob: joined, carol: joined], of: room) == [carol])
        #expect(store.load(room).memberships == [alice: joined, bob: joined])
        for _ in 0..<2 { #expect(store.saveMemberships([alice: nil], of: room).isEmpty) }
        #expect(store.saveMemberships([alice: joined, carol: invited], of: attic) == [carol])
        #expect(store.load(attic).memberships == [alice: joined, bob: invited])
    }
    // R-122, Specs/hostile.md row 93
    @Test("the 769th invitation of an account is refused, and it still joins rooms")
    func maxInvitations() throws {
        let store = InMemoryStore()
        let bob = AccountName("bob")
        let invited = MembershipRecord(isJoined: false, changedAt: 1)
        let joined = MembershipRecord(isJoined: true, changedAt: 2)
        let rooms = (0...MembershipBounds.maxCountPerAccount).map { RoomName("room \($0)")! }
        let refused = rooms.prefix(769).map { store.saveMemberships([bob: invited], of: $0) == [bob] }
        #expect(refused == Array(repeating: false, count: 768) + [true])
        // An invitation that is accepted is no new record.
        #expect(store.saveMemberships([bob: joined], of: rooms[0]).isEmpty)
        let refusedJoins = rooms.dropFirst(768).map { store.saveMemberships([bob: joined], of: $0) == [bob] }
        #expect(refusedJoins == Array(repeating: false, count: 256) + [true])
    }
}
