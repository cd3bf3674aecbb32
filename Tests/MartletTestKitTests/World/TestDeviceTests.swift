import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A test device")
struct TestDeviceTests {
    private let world = TestWorld(seed: 3)

    @Test("a killed device keeps the messages of its outbox, and its next client sends them")
    func killed() throws {
        let text = try world.run {
            let relay = try world.startRelay()
            let (alice, bob) = (world.device("alice"), try await world.device("bob").start())
            let room = try await alice.start().open(room: "lobby")
            await relay.kill()
            try await room.send("kept")
            try await world.sleep(for: .seconds(1))
            await alice.kill()
            try relay.restart()
            try await alice.start()
            return try await bob.open(room: "lobby").messages.first { _ in true }?.text
        }
        #expect(text == "kept")
    }

    //
    @Test("a device with the outbox of another account → its client does not start")
    func outboxOfAnotherAccount() throws {
        #expect(throws: MartletError.outboxOfAnotherAccount("alice")) {
            try world.run {
                try world.startRelay()
                let alice = world.device("alice")
                try await alice.start()
                await alice.stop()
                try await world.device("bob", outbox: alice.outbox).start()
            }
        }
    }

    @Test("a killed device stores nothing after its end")
    func nothingAfterTheEnd() throws {
        let texts = try world.run {
            try world.startRelay()
            let (alice, bob) = (world.device("alice"), world.device("bob"))
            let room = try await alice.start().open(room: "lobby")
            for number in 1...3 { _ = try await room.send("\(number)").accepted() }
            let other = try await bob.start().open(room: "lobby")
            for try await delivery in other.deliveries {
                try await delivery.done()
                if delivery.message.text == "2" { break }
            }
            await bob.kill()
            return try await bob.start().open(room: "lobby").messages.first { _ in true }?.text
        }
        #expect(texts == "3")
    }

    @Test("the calls of a killed client end")
    func pendingCalls() throws {
        let error = try world.run {
            try world.startRelay()
            let alice = world.device("alice")
            let client = try await alice.start()
            alice.blackHole()
            async let opening = client.open(room: "lobby")
            try await world.sleep(for: .seconds(5))
            await alice.kill()
            do {
                _ = try await opening
                return nil as MartletError?
            } catch {
                return error as? MartletError
            }
        }
        #expect(error == .stopped)
    }

    @Test("delay, rate and outage of the path act on a client")
    func conditions() throws {
        let times = try world.run {
            try world.startRelay()
            let alice = world.device(
                "alice", conditions: PathConditions(delay: .milliseconds(100), bytesPerSecond: 10_000))
            let room = try await alice.start().open(room: "lobby")
            func timeOfSending(_ byteCount: Int) async throws -> Duration {
                let begin = world.time
                _ = try await room.send(String(repeating: "a", count: byteCount)).accepted()
                return world.time - begin
            }
            let short = try await timeOfSending(1)
            let long = try await timeOfSending(10_000)
            alice.blackHole()
            world.startTask {
                try? await world.sleep(for: .seconds(3))
                alice.restore()
            }
            return (short, long, try await timeOfSending(1))
        }
        #expect((.milliseconds(200)..<(.milliseconds(400))).contains(times.0))
        #expect(times.1 > .seconds(1))
        #expect(times.2 > .seconds(3))
    }

    // C-109
    @Test("a client without a path -> slow attempts, and it is online after the device is")
    func offline() throws {
        let (pauseCount, attemptCount, last) = try world.run {
            try world.startRelay()
            let alice = world.device("alice")
            let client = try await alice.start()
            _ = try await client.open(room: "lobby")
            alice.goOffline()
            var (pauseCount, attemptCount) = (0, 0)
            for _ in 0..<300 {
                try await world.sleep(for: .seconds(1))
                switch client.currentStatus.phase {
                case .paused(.noPath): pauseCount += 1
                case .connecting: attemptCount += 1
                default: break
                }
            }
            alice.goOnline()
            try await world.sleep(for: .seconds(30))
            return (pauseCount, attemptCount, client.currentStatus.phase)
        }
        #expect(pauseCount > 0 && attemptCount > 0)
        #expect(last == .online)
    }
}
