import MartletLink
import MartletTestKit
import MartletTransport
import MartletWire
import Testing

@Suite("Links without rooms")
struct LinkSessionTests {
    private static let address = "10.0.0.1:7300"

    private func makeListener(
        in world: TestWorld, on loop: EventLoop? = nil,
        authenticate: @escaping LinkListener.Authenticate = { Identity($0.account) }
    ) throws -> LinkListener {
        var configuration = LinkListener.Configuration(addresses: [SocketAddress(Self.address)!])
        configuration.allowsPlaintext = true
        let listener = LinkListener(configuration, on: loop ?? world.makeServerLoop(), authenticate: authenticate)
        try listener.start()
        return listener
    }

    private func makeClient(
        _ account: String = "alice", on device: TestDevice,
        credential: (@Sendable () async throws -> Credential)? = nil
    ) throws -> LinkClient {
        var configuration = LinkClient.Configuration()
        configuration.allowsPlaintext = true
        return try LinkClient(
            to: "martlet://\(Self.address)", as: account, credential: credential, configuration: configuration,
            on: device.makeLoop())
    }

    private func first(_ listener: LinkListener) async throws -> AcceptedLink {
        var links = listener.links.makeAsyncIterator()
        return try #require(await links.next())
    }

    private func first(_ sessions: LinkSessionSequence) async throws -> LinkSession {
        var iterator = sessions.makeAsyncIterator()
        return try #require(try await iterator.next())
    }

    private static func number(_ bytes: [UInt8]) -> Int { bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) } }

    /// Sends the numbers from 0 in messages of different lengths, and closes the session.
    private static func sendNumbers(on session: LinkSession, count: Int) async throws {
        for number in 0..<count {
            let bytes = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: number % 700)
            try await session.send(bytes)
        }
        session.close()
    }

    private static func numbers(on session: LinkSession) async throws -> [Int] {
        var numbers: [Int] = []
        for try await message in session.messages { numbers.append(number(message)) }
        return numbers
    }

    @Test func `1,000 messages in both directions on three sessions arrive once and in order over cuts`() throws {
        let world = TestWorld(seed: 1)
        let device = world.device(
            "alice", conditions: PathConditions(jitter: .milliseconds(20), bytesPerSecond: 300_000))
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let cuts = world.startTask {
                // A cut between the hello and the welcome of a resume would end the link (C-37).
                var count: UInt64 = 0
                for await status in client.status where status.isOnline && status.reconnects == count {
                    try? await world.sleep(for: .milliseconds(700))
                    device.cut()
                    count += 1
                }
            }
            let kinds: [SessionKind] = [.signaling, .chat, .file]
            var pairs: [(LinkSession, LinkSession)] = []
            for kind in kinds {
                let opened = try await client.open("\(kind)", kind: kind)
                pairs.append((opened, opened))
            }
            let link = try await first(listener)
            for index in pairs.indices { pairs[index].1 = try await first(link.sessions) }
            let results = try await withThrowingTaskGroup(of: [Int].self) { group in
                for (near, far) in pairs {
                    #expect(near.name == far.name && near.kind == far.kind)
                    for session in [near, far] {
                        group.addTask {
                            async let sending: Void = Self.sendNumbers(on: session, count: 1000)
                            let numbers = try await Self.numbers(on: session)
                            try await sending
                            return numbers
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            cuts.cancel()
            #expect(results.count == 6 && results.allSatisfy { $0 == Array(0..<1000) })
            #expect(world.connectionCount > 3)
            await client.close()
            await listener.close()
        }
    }

    @Test func `a slow reader stops the sender after a window, on this session only`() throws {
        let world = TestWorld(seed: 2)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let (slow, fast) = (try await client.open("slow", kind: .file), try await client.open("fast"))
            let link = try await first(listener)
            let unread = try await first(link.sessions)
            let read = try await first(link.sessions)
            let count = Counter()
            let sending = world.startTask {
                while (try? await slow.send([UInt8](repeating: 1, count: 8192))) != nil { count.value += 1 }
            }
            try await world.sleep(for: .seconds(60))
            #expect(count.value == 31, "a window of 256 KiB")
            try await fast.send([1])
            #expect(try await read.messages.first { _ in true } == [1])
            for _ in 0..<20 { _ = try await unread.messages.first { _ in true } }
            try await world.sleep(for: .seconds(1))
            #expect((45...51).contains(count.value))
            sending.cancel()
            await client.close()
            await listener.close()
        }
    }

    // C-35
    @Test func `a server that was restarted ends the sessions with an error, and another link begins`() throws {
        let world = TestWorld(seed: 3)
        let device = world.device("alice")
        try world.run {
            let loop = world.makeServerLoop()
            let listener = try makeListener(in: world, on: loop)
            let client = try makeClient(on: device)
            let session = try await client.open("a")
            let far = try await first(try await first(listener).sessions)
            await loop.shutdown()
            await #expect(throws: LinkFailure.self) { try await far.send([1]) }
            let restarted = try makeListener(in: world)
            await #expect(throws: LinkFailure.linkEnded) { for try await _ in session.messages {} }
            await #expect(throws: LinkFailure.linkEnded) { try await session.send([1]) }
            let next = try await client.open("b")
            try await next.send([2])
            let other = try await first(try await first(restarted).sessions)
            #expect(other.name == "b")
            #expect(try await other.messages.first { _ in true } == [2])
            await client.close()
            await restarted.close()
        }
    }

    @Test func `close lets messages arrive that were queued without a connection`() throws {
        let world = TestWorld(seed: 4)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let session = try await client.open("a")
            let link = try await first(listener)
            let far = try await first(link.sessions)
            device.goOffline()
            try await Self.sendNumbers(on: session, count: 100)
            await #expect(throws: LinkFailure.closed) { try await session.send([1]) }
            world.startTask {
                try? await world.sleep(for: .seconds(2))
                device.goOnline()
            }
            await client.close()
            #expect(try await Self.numbers(on: far) == Array(0..<100))
            let further = try await first(listener.links, orNil: link.sessions)
            #expect(further == nil, "the link has ended")
            await listener.close()
        }
    }

    private func first(_ links: LinkListener.Links, orNil sessions: LinkSessionSequence) async throws -> LinkSession? {
        var iterator = sessions.makeAsyncIterator()
        return try await iterator.next()
    }

    @Test func `calls that wait end with their task`() throws {
        let world = TestWorld(seed: 5)
        let device = world.device("alice")
        try world.run {
            let client = try makeClient(on: device)
            let opening = Task(executorPreference: world.executor) { try await client.open("a") }
            let incoming = Task(executorPreference: world.executor) { try await self.first(client.sessions) }
            try await world.sleep(for: .seconds(5))
            opening.cancel()
            incoming.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
            await #expect(throws: CancellationError.self) { try await incoming.value }
            let listener = try makeListener(in: world)
            let session = try await client.open("b")
            let link = try await first(listener)
            let far = try await first(link.sessions)
            #expect(far.name == "b")
            let sending = Task(executorPreference: world.executor) {
                while true { try await session.send([UInt8](repeating: 0, count: 10_000)) }
            }
            let receiving = Task(executorPreference: world.executor) { try await session.messages.first { _ in true } }
            let links = Task(executorPreference: world.executor) { await listener.links.first { _ in true } }
            try await world.sleep(for: .seconds(5))
            sending.cancel()
            receiving.cancel()
            links.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            await #expect(throws: CancellationError.self) { try await receiving.value }
            #expect(await links.value == nil)
            try await far.send([3])
            #expect(try await session.messages.first { _ in true } == [3])
            await client.close()
            await listener.close()
        }
    }

    @Test func `each of two clients has a link, and a second link of a device ends the first`() throws {
        let world = TestWorld(seed: 6)
        let (first, second) = (world.device("alice"), world.device("bob"))
        try world.run {
            let listener = try makeListener(in: world)
            let (alice, bob) = (try makeClient("alice", on: first), try makeClient("bob", on: second))
            let (ofAlice, ofBob) = (try await alice.open("a"), try await bob.open("b"))
            var links = listener.links.makeAsyncIterator()
            for _ in 0..<2 {
                let link = try #require(await links.next())
                let session = try await self.first(link.sessions)
                #expect((link.peer.account == alice.account) == (session.name == "a"))
                try await session.send(Array(session.name.utf8))
                session.close()
                world.startTask { _ = try? await session.messages.first { _ in true } }
            }
            #expect(try await ofAlice.messages.first { _ in true } == Array("a".utf8))
            #expect(try await ofBob.messages.first { _ in true } == Array("b".utf8))
            await alice.close()
            await bob.close()
            await listener.close()
        }
    }

    @Test func `a server opens sessions at a client`() throws {
        let world = TestWorld(seed: 7)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let link = try await first(listener)
            let session = try await link.open("news", kind: .media)
            try await session.send([1])
            let near = try await first(client.sessions)
            #expect(near.name == "news" && near.kind == .media)
            #expect(try await near.messages.first { _ in true } == [1])
            await client.close()
            await listener.close()
        }
    }

    @Test func `a client with a wrong credential gives up`() throws {
        let world = TestWorld(seed: 8)
        let device = world.device("alice")
        try world.run {
            let secret = Credential(Array("secret".utf8))!
            let listener = try makeListener(in: world) { request in
                guard request.credential == secret else { throw AuthenticationFailure.unauthenticated }
                return Identity(request.account)
            }
            let wrong = try makeClient(on: device) { Credential(Array("wrong".utf8))! }
            await #expect(throws: LinkFailure.gaveUp(.unauthenticated)) { _ = try await wrong.open("a") }
            await #expect(throws: LinkFailure.gaveUp(.unauthenticated)) { for try await _ in wrong.sessions {} }
            var statuses = wrong.status.makeAsyncIterator()
            #expect(await statuses.next()?.state == .stopped(.unauthenticated))
            await wrong.close()
            let right = try makeClient(on: device) { secret }
            _ = try await right.open("a")
            await right.close()
            await listener.close()
        }
    }

    @Test func `the release of a client, and of a link, ends the link`() throws {
        let world = TestWorld(seed: 9)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            var client: LinkClient? = try makeClient(on: device)
            var session: LinkSession? = try await client?.open("a")
            var link: AcceptedLink? = try await first(listener)
            try await session?.send([1])
            client = nil
            session = nil
            let far = try await first(try #require(link?.sessions))
            #expect(try await far.messages.first { _ in true } == [1])
            var sessions = try #require(link?.sessions).makeAsyncIterator()
            #expect(try await sessions.next() == nil)
            link = nil
            await listener.close()
        }
    }

    @Test func `a listener that is closed ends its sequences and refuses further calls`() throws {
        let world = TestWorld(seed: 10)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let session = try await client.open("a")
            let link = try await first(listener)
            let far = try await first(link.sessions)
            try await far.send([1])
            await listener.close()
            #expect(await listener.links.first { _ in true } == nil)
            await #expect(throws: LinkFailure.closed) { try await far.send([1]) }
            await #expect(throws: LinkFailure.stopped) { _ = try await link.open("b") }
            #expect(try await session.messages.first { _ in true } == [1])
            #expect(throws: LinkSetupError.alreadyStarted) { try listener.start() }
            await client.close()
        }
    }

    @Test func `1,000 sessions one after the other, closed in any order -> no state remains`() throws {
        let world = TestWorld(seed: 11)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let link = try await first(listener)
            for number in 0..<1000 {
                let near = try await client.open("\(number)")
                let far = try await first(link.sessions)
                #expect(far.name == "\(number)")
                switch number % 4 {
                case 0: near.close()
                case 1:
                    far.close()
                    try await near.send([1])
                    #expect(try await near.messages.first { _ in true } == nil)
                case 2: far.reset()
                default: break  // both are released
                }
            }
            #expect(try await client.open("last").name == "last")
            await client.close()
            await listener.close()
        }
    }

    // S-4
    @Test func `sessions beyond the rate of opens -> they are opened at the rate, at both ends`() throws {
        let world = TestWorld(seed: 15)
        // The last acknowledgement precedes the next session, whose time no other event has.
        let device = world.device("alice", conditions: PathConditions(delay: .milliseconds(1)))
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let link = try await first(listener)
            let start = world.now
            for _ in 0..<Link.ownOpenBurst + 60 { try await client.open("a").reset() }
            #expect((.seconds(1)...(.seconds(4))).contains(world.now - start))
            try await world.sleep(for: .seconds(60))
            let later = world.now
            for _ in 0..<Link.ownOpenBurst + 60 { try await link.open("a").reset() }
            #expect((.seconds(1)...(.seconds(4))).contains(world.now - later))
            await client.close()
            await listener.close()
        }
    }

    // C-95
    @Test func `a message for a server that is down -> the next attempt is earlier`() throws {
        let world = TestWorld(seed: 16)
        let device = world.device("alice")
        try world.run {
            let loop = world.makeServerLoop()
            let listener = try makeListener(in: world, on: loop)
            let client = try makeClient(on: device)
            let session = try await client.open("a")
            _ = try await first(try await first(listener).sessions)
            await loop.shutdown()
            var statuses = client.status.makeAsyncIterator()
            var wait = Duration.zero
            while wait < .seconds(8), let status = await statuses.next() {
                wait = status.nextAttempt.map { $0 - world.now } ?? .zero
            }
            try await session.send([1])
            let next = try #require(await statuses.next()?.nextAttempt)
            #expect(next - world.now < .seconds(3))
            await client.close()
        }
    }

    /// Answers each message of one session after the other with the same one.
    private static func echo(_ link: AcceptedLink) async throws {
        for try await session in link.sessions {
            for try await message in session.messages { try await session.send(message) }
        }
    }

    @Test func `100 clients with a link each -> each is answered, and all end with the listener`() throws {
        let world = TestWorld(seed: 12)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            world.startTask {
                for await link in listener.links {
                    world.startTask { try? await Self.echo(link) }
                }
            }
            let clients = try (0..<100).map { try makeClient("a\($0)", on: device) }
            for (number, client) in clients.enumerated() {
                let session = try await client.open("a", kind: .signaling)
                try await session.send([UInt8(number)])
                #expect(try await session.messages.first { _ in true } == [UInt8(number)])
            }
            for client in clients.prefix(50) { await client.close() }
            await listener.close()
            for client in clients.suffix(50) { await client.close() }
        }
    }

    @Test func `two iterations over the messages of a session -> each message is taken once`() throws {
        let world = TestWorld(seed: 13)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let session = try await client.open("a")
            let far = try await first(try await first(listener).sessions)
            async let first = Self.numbers(on: far)
            async let second = Self.numbers(on: far)
            try await Self.sendNumbers(on: session, count: 200)
            let taken = try await first + second
            #expect(taken.sorted() == Array(0..<200))
            #expect(try await Self.numbers(on: far).isEmpty, "a session that has ended")
            await client.close()
            await listener.close()
        }
    }

    // S-51
    @Test func `a session of a kind of rooms -> reset by the other side`() throws {
        let world = TestWorld(seed: 14)
        let device = world.device("alice")
        try world.run {
            let listener = try makeListener(in: world)
            let client = try makeClient(on: device)
            let session = try await client.open("a", kind: .attachment)
            await #expect(throws: LinkFailure.reset(.unsupportedKind)) { for try await _ in session.messages {} }
            await client.close()
            await listener.close()
        }
    }

    @Test func `a sender that is cancelled at any time -> the messages that it has sent arrive, and no other`() throws {
        for seed in UInt64(20)..<25 {
            let world = TestWorld(seed: seed)
            let device = world.device("alice", conditions: PathConditions(bytesPerSecond: 200_000))
            try world.run {
                let listener = try makeListener(in: world)
                let client = try makeClient(on: device)
                let session = try await client.open("a", kind: .signaling)
                let far = try await first(try await first(listener).sessions)
                let count = Counter()
                let sending = Task(executorPreference: world.executor) {
                    for number in 0..<10_000 {
                        try await session.send(
                            [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: 3000))
                        count.value += 1
                    }
                }
                world.startTask {
                    try? await world.sleep(for: .milliseconds(100 * Int(seed)))
                    device.cut()
                    try? await world.sleep(for: .milliseconds(130))
                    sending.cancel()
                    _ = try? await sending.value
                    session.close()
                }
                #expect(try await Self.numbers(on: far) == Array(0..<count.value))
                await client.close()
                await listener.close()
            }
        }
    }
}

private final class Counter: @unchecked Sendable {  // used by the thread that runs the world
    var value = 0
}
