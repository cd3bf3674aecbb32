import Martlet
import MartletTestKit
import Synchronization
import Testing

@Suite("Restarts of a relay")
struct RestartTests {
    // C-55
    @Test(arguments: 1...8)
    func `four graceful restarts of a relay with 30 clients → all are back within 6 s`(_ seed: UInt64) throws {
        let world = TestWorld(seed: seed)
        let times = try world.run(timeLimit: .seconds(10_000)) {
            let relay = try world.startRelay()
            let clients = try await (1...30).asyncMap { try await world.device("user\($0)").start() }
            for client in clients { _ = try await client.open(room: "a") }
            var times: [Duration] = []
            for _ in 1...4 {
                try await world.sleep(for: .seconds(2))
                await relay.stop(within: .seconds(5))
                try await world.sleep(for: .seconds(1))
                try relay.restart()
                let start = world.time
                for client in clients { for await status in client.status where status.isOnline { break } }
                times.append(world.time - start)
            }
            return times
        }
        #expect(times.allSatisfy { $0 < .seconds(6) }, "\(times)")
    }
}

extension Sequence where Element: Sendable {
    fileprivate func asyncMap<Value: Sendable>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
