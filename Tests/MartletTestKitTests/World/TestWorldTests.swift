import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A test world")
struct TestWorldTests {
    @Test("a message of one real client reaches another over a real relay")
    func conversation() throws {
        let world = TestWorld(seed: 1)
        let text = try world.run {
            try world.startRelay()
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let room = try await alice.open(room: "lobby")
            let other = try await bob.open(room: "lobby")
            try await room.send("hello")
            return try await other.messages.first { _ in true }?.text
        }
        #expect(text == "hello")
        #expect(world.time < .seconds(2))
    }

    @Test("a closure that waits for nothing ends with an error at once")
    func deadlock() throws {
        let world = TestWorld()
        #expect(throws: TestWorldError.deadlock(at: .seconds(3))) {
            try world.run {
                try await world.sleep(for: .seconds(3))
                for await _ in AsyncStream<Void>.makeStream().stream {}
                try await world.sleep(for: .seconds(1))
            }
        }
    }

    @Test("a closure that waits for a message that nobody sends ends at the limit of virtual time")
    func timeLimit() throws {
        let world = TestWorld()
        #expect(throws: TestWorldError.timeLimitExceeded(.seconds(600))) {
            try world.run(timeLimit: .seconds(600)) {
                try world.startRelay()
                let room = try await world.device("alice").start().open(room: "lobby")
                for try await _ in room.messages {}
            }
        }
        #expect(world.time >= .seconds(600))
    }

    @Test("tasks that yield for ever end with an error")
    func noProgress() throws {
        let world = TestWorld()
        #expect(throws: TestWorldError.noProgress(at: .zero)) {
            try world.run { while !Task.isCancelled { await Task.yield() } }
        }
    }

    @Test("an error of the closure is thrown")
    func failure() throws {
        let world = TestWorld()
        #expect(throws: MartletError.invalidName("")) {
            try world.run {
                try world.startRelay()
                _ = try await world.device("alice").start().open(room: "")
            }
        }
    }

    @Test("clients and relays end with the closure, also those of tasks")
    func end() throws {
        let world = TestWorld()
        let (client, room) = try world.run {
            try world.startRelay()
            let client = try await world.device("alice").start()
            let room = try await client.open(room: "lobby")
            world.startTask { for await _ in client.status {} }
            return (client, room)
        }
        #expect(client.currentStatus.phase == .stopped(nil))
        #expect(throws: MartletError.stopped) { try world.run { try await room.send("late") } }
    }

    @Test("the time stands still while work on another thread is in progress")
    func otherThread() throws {
        let world = TestWorld()
        let times = try world.run {
            world.startTask { while !Task.isCancelled { try? await world.sleep(for: .milliseconds(1)) } }
            let before = world.time
            let sum = await world.withTimeStopped { await Task.detached { (1...100_000).reduce(0, +) }.value }
            return (before, world.time, sum)
        }
        #expect(times.0 == times.1)
        #expect(times.2 == 5_000_050_000)
    }

    @Test("the same seed gives the same run, another seed a different run")
    func determinism() throws {
        func run(_ seed: UInt64) throws -> [String] {
            let world = TestWorld(seed: seed)
            return try world.run { try await conversation(in: world) }
        }
        let first = try run(1)
        #expect(try run(1) == first)
        #expect(try run(2) != first)
    }

    /// The observations of a conversation over bad paths, with their times.
    private func conversation(in world: TestWorld) async throws -> [String] {
        let relay = try world.startRelay { $0.loopCount = 2 }
        let log = ObservationLog(world)
        let conditions = PathConditions(delay: .milliseconds(80), jitter: .milliseconds(60), bytesPerSecond: 50_000)
        let devices = (0..<6).map { world.device("user\($0)", conditions: conditions) }
        for device in devices {
            let client = try await device.start()
            world.startTask { for await status in client.status { log.note("\(device.account) \(status)") } }
            let room = try await client.open(room: "lobby", options: .init(waitsForRelay: false))
            world.startTask {
                guard
                    let messages = try? await room.messages.reduce(
                        into: 0,
                        { count, message in
                            log.note("\(device.account) has \(message.id) at \(message.offset)")
                            count += 1
                        })
                else { return }
                log.note("\(device.account) has \(messages) messages")
            }
            world.startTask {
                for number in 0..<20 {
                    _ = try? await room.send("\(number)")
                    try? await world.sleep(for: .milliseconds(150))
                }
            }
        }
        try await world.sleep(for: .seconds(1))
        devices[0].cut()
        devices[1].dropNATMappings()
        devices[2].switchNetwork()
        try await world.sleep(for: .seconds(1))
        await relay.kill()
        try await world.sleep(for: .seconds(2))
        try relay.restart()
        try await world.sleep(for: .seconds(120))
        return log.lines
    }
}
