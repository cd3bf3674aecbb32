import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire
import Synchronization
import Testing

@Suite("Many sends at once")
struct ManySendsTests {
    // C-107
    @Test("10,000 sends of 100 tasks while a room opens → the log has all of them in the order of the calls")
    func whileOpening() throws {
        let world = TestWorld(seed: 7)
        let (calls, log) = try world.run {
            let store = InMemoryStore()
            try world.startRelay(store: store)
            let device = world.device("alice", conditions: PathConditions(delay: .milliseconds(200)))
            let client = try await device.start()
            let room = try await client.open(room: "lobby", options: Room.Options(waitsForRelay: false))
            let calls = CallList()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<100 {
                    group.addTask {
                        try await withThrowingTaskGroup(of: Void.self) { sends in
                            for number in 0..<100 {
                                sends.addTask {
                                    let text = "\(task) \(number)"
                                    calls.note(text)
                                    try await room.send(text)
                                }
                                // Other tasks send between some of the calls.
                                if number % 10 == task % 10 { await Task.yield() }
                            }
                            try await sends.waitForAll()
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await room.pending.last?.accepted()
            return (calls.texts, try texts(of: "lobby", in: store))
        }
        #expect(calls.count == 10_000)
        #expect(log == calls)
        for task in 0..<100 {
            let numbers = log.filter { $0.hasPrefix("\(task) ") }.compactMap { $0.split(separator: " ").last }
            #expect(numbers == (0..<100).map { "\($0)"[...] })
        }
    }

    private func texts(of room: RoomName, in store: InMemoryStore) throws -> [String] {
        let range = ReadRange(from: 1, maxCount: .max, maxByteCount: .max)
        return try store.read(range, of: room).entries.map { try Message(parsing: $0.body.rawBytes).text ?? "" }
    }
}

/// The texts of calls in their order.
private final class CallList: Sendable {
    private let state = Mutex<[String]>([])

    var texts: [String] { state.withLock { $0 } }

    func note(_ text: String) {
        state.withLock { $0.append(text) }
    }
}
