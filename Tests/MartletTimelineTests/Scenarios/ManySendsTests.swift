import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire
import Synchronization
import Testing

@testable import MartletTimeline

@Suite struct ManySendsTests {
    // C-107
    @Test func `1,000 sends of 100 tasks that all open the room → log and timeline have the order of the calls`() throws
    {
        let folder = TemporaryFolder()
        let world = TestWorld(seed: 7)
        let (calls, log, shown) = try world.run {
            let store = InMemoryStore()
            try world.startRelay(store: store)
            let client = try await world.device("ada").start()
            let timeline = try await Timeline(path: folder.file("timeline"), account: "ada", isInline: true)
            let sync = TimelineSync(client, timeline)
            let calls = CallList()
            async let running: Void = sync.run()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<100 {
                    group.addTask {
                        let room = try await sync.open(room: "lobby")
                        try await withThrowingTaskGroup(of: Void.self) { sends in
                            for number in 0..<10 {
                                sends.addTask {
                                    let text = "\(task) \(number)"
                                    calls.note(text)
                                    try await room.send(text)
                                }
                            }
                            try await sends.waitForAll()
                        }
                    }
                }
                try await group.waitForAll()
            }
            for handle in try await sync.open(room: "lobby").room.pending { try await handle.accepted() }
            try await world.sleep(for: .seconds(1))
            let shown = try await timeline.page(of: "lobby", limit: 1000).map { $0.text ?? "" }
            await client.stop()
            try await running
            await timeline.close()
            let range = ReadRange(from: 1, maxCount: .max, maxByteCount: .max)
            let log = try store.read(range, of: "lobby").entries.map {
                try Message(parsing: $0.body.rawBytes).text ?? ""
            }
            return (calls.texts, log, shown)
        }
        #expect(calls.count == 1000)
        #expect(log == calls)
        #expect(shown == calls)
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
