import Martlet
import MartletRelay
import MartletTestKit
import Testing

/// Clients behind one translator of addresses.
@Suite("Clients that share an address")
struct SharedAddressTests {
    /// Takes time for each sign-in, and refuses the token "wrong".
    private struct TimedAuthenticator: Authenticator {
        let world: TestWorld
        let duration: Duration

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            try await world.sleep(for: duration)
            guard request.credential != Credential("wrong") else { throw AuthenticationFailure.unauthenticated }
            return Identity(request.account)
        }
    }

    /// Starts clients, and returns the durations until they are online, the shortest first.
    private static func durations(_ world: TestWorld, _ devices: [TestDevice]) async throws -> [Duration] {
        let begin = world.time
        var clients: [Client] = []
        for device in devices { clients.append(try await device.start()) }
        var durations: [Duration] = []
        for client in clients {
            for await status in client.status where status.isOnline { break }
            durations.append(world.time - begin)
        }
        return durations.sorted()
    }

    // C-113, Specs/hostile.md row 104
    @Test("100 clients of an address sign in at a relay that needs 0.5 s each -> all within 2 s")
    func slowAuthenticator() throws {
        let world = TestWorld(seed: 11)
        let durations = try world.run {
            try world.startRelay(authenticator: TimedAuthenticator(world: world, duration: .milliseconds(500)))
            return try await Self.durations(world, (0..<100).map { world.device("user\($0)", gateway: 1) })
        }
        #expect(durations.count == 100)
        #expect(try #require(durations.last) <= .seconds(2))
    }

    // C-67, C-113, Specs/hostile.md row 104
    @Test("a client retries a wrong token every second, 20 others of its address sign in -> all within 2 s")
    func wrongToken() throws {
        let world = TestWorld(seed: 12)
        let durations = try world.run {
            try world.startRelay(authenticator: TimedAuthenticator(world: world, duration: .milliseconds(10)))
            let wrong = world.device("old", gateway: 1)
            wrong.credentials = .token(account: "old", "wrong")
            world.startTask {
                while !Task.isCancelled {
                    _ = try? await wrong.start()
                    try? await world.sleep(for: .seconds(1))
                    await wrong.kill()
                }
            }
            var all: [Duration] = []
            for round in 0..<10 {
                try await world.sleep(for: .seconds(7))
                let devices = (0..<20).map { world.device("user\(round)-\($0)", gateway: 1) }
                all += try await Self.durations(world, devices)
                for device in devices { await device.kill() }
            }
            return all
        }
        #expect(durations.count == 200)
        #expect(durations.allSatisfy { $0 <= .seconds(2) })
    }
}
