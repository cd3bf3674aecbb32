import MartletProtocol
import MartletRelay
import MartletWire
import Testing

@Suite("A store in memory")
struct InMemoryStoreTests {
    private let room = RoomName("lobby")!

    private func entries(_ offsets: ClosedRange<UInt64>, device: UInt64 = 1, byteCount: Int = 10) -> [LogEntry] {
        offsets.map {
            LogEntry(
                offset: $0, sender: AccountName("alice")!, device: DeviceID(rawValue: device), counter: $0 * 10,
                acceptedAt: 0, body: EncodedBody([UInt8](repeating: 0, count: byteCount)))
        }
    }

    private func wholeLog(of store: InMemoryStore) -> RoomHistory {
        store.read(ReadRange(from: 1, maxCount: .max, maxByteCount: .max), of: room)
    }

    //
    @Test("a room that nobody wrote to is empty, and takes no place")
    func empty() throws {
        let store = InMemoryStore()
        let snapshot = try store.load(room)
        #expect(snapshot.head == 0 && snapshot.first == 1 && snapshot.watermarks.isEmpty)
        #expect(wholeLog(of: store).entries.isEmpty)
        #expect(store.roomCount == 0)
    }

    //
    @Test("what was appended is read from any offset, within both bounds, but at least one")
    func reading() throws {
        let store = InMemoryStore()
        try store.append(entries(1...100), to: room)
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
    @Test("the oldest give way by count, and their watermarks stay")
    func maxMessages() throws {
        let store = InMemoryStore(maxMessagesPerRoom: 10)
        try store.append(entries(1...5, device: 1), to: room)
        try store.append(entries(6...25, device: 2), to: room)
        let snapshot = try store.load(room)
        #expect(snapshot.head == 25)
        #expect(snapshot.first == 16)
        let alice = AccountName("alice")!
        #expect(
            snapshot.watermarks == [
                DeviceKey(account: alice, device: DeviceID(rawValue: 1)): 50,
                DeviceKey(account: alice, device: DeviceID(rawValue: 2)): 250,
            ])
        let history = wholeLog(of: store)
        #expect(history.first == 16)
        #expect(history.entries.map(\.offset) == Array(16...25))
    }

    @Test("the oldest give way by bytes, but the newest stays however long it is")
    func maxBytes() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCountPerRoom = 100
        let store = InMemoryStore(bounds: bounds)
        try store.append(entries(1...20), to: room)
        #expect(try store.load(room).first == 11)
        try store.append(entries(21...21, byteCount: 1000), to: room)
        #expect(try store.load(room).first == 21)
        #expect(wholeLog(of: store).entries.map(\.offset) == [21])
    }

    @Test("a room too many is refused at once, those that are there go on")
    func maxRooms() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxRooms = 1
        let store = InMemoryStore(bounds: bounds)
        try store.append(entries(1...1), to: room)
        #expect(throws: InMemoryStore.Failure.tooManyRooms) { try store.load(RoomName("other")!) }
        #expect(throws: InMemoryStore.Failure.tooManyRooms) {
            try store.append(entries(1...1), to: RoomName("other")!)
        }
        try store.append(entries(2...2), to: room)
        #expect(store.roomCount == 1)
    }

    //
    @Test("beyond the bytes of all rooms, the room unused for longest loses its oldest messages first")
    func maxBytesOfAll() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 40_000
        let store = InMemoryStore(bounds: bounds)
        let (old, read) = (RoomName("old")!, RoomName("read")!)
        for name in [old, read] {
            for offset in 1...10 as ClosedRange<UInt64> {
                try store.append(entries(offset...offset, byteCount: 1000), to: name)
            }
        }
        _ = store.read(ReadRange(from: 1, maxCount: 1, maxByteCount: 1), of: read)
        for offset in 1...20 as ClosedRange<UInt64> {
            try store.append(entries(offset...offset, byteCount: 1000), to: room)
            #expect(store.byteCount <= 40_000)
        }
        let first = try store.load(old).first
        #expect(first > 1 && first <= 11)
        #expect(try store.load(read).first == 1 && store.load(room).first == 1)
        // The counters of what gave way are known as ever.
        #expect(try store.load(old).watermarks.count == 1 && store.load(old).head == 10)
        for offset in 21...60 as ClosedRange<UInt64> {
            try store.append(entries(offset...offset, byteCount: 1000), to: room)
        }
        #expect(try store.load(old).first == 11 && store.load(read).first == 11)
        #expect(try store.load(room).first > 1 && store.byteCount <= 40_000)
    }

    //
    @Test("rooms and devices that take all there is leave no room for messages")
    func full() throws {
        var bounds = InMemoryStore.Bounds()
        bounds.maxByteCount = 1000
        let store = InMemoryStore(bounds: bounds)
        try store.append(entries(1...1), to: RoomName("one")!)
        try store.append(entries(1...1), to: RoomName("two")!)
        #expect(throws: InMemoryStore.Failure.full) { try store.append(entries(1...1), to: room) }
        #expect(try store.load(RoomName("one")!).first == 2)
    }

    //
    @Test("a gap or a repetition in the offsets is refused whole")
    func outOfOrder() throws {
        let store = InMemoryStore()
        try store.append(entries(1...3), to: room)
        for wrong in [3...4, 5...6] as [ClosedRange<UInt64>] {
            #expect(throws: InMemoryStore.Failure.outOfOrder(head: 3)) { try store.append(entries(wrong), to: room) }
        }
        #expect(try store.load(room).head == 3)
    }
}
