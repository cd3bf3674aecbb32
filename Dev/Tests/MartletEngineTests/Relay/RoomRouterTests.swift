import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

@Suite struct RoomRouterTests {
    fileprivate static let now = Instant(nanoseconds: 1_000_000_000)
    /// The first account whose links belong to the given one of two loops.
    private static func account(on loop: Int) -> AccountName {
        (0...).lazy.map { AccountName("account\($0)")! }.first { LoopPlace(index: 0, count: 2).loop(of: $0) == loop }!
    }

    /// Two loops of a relay, and their outputs.
    private final class Pair {
        var first: RelayEngine
        var second: RelayEngine

        init(_ configuration: RelayConfiguration = RelayConfiguration()) {
            first = RelayEngine(configuration: configuration, seed: 1, place: LoopPlace(index: 0, count: 2))
            second = RelayEngine(configuration: configuration, seed: 2, place: LoopPlace(index: 1, count: 2))
        }

        func accept() -> ConnectionKey? { first.accepted(.reliable, now: RoomRouterTests.now) }
        func outputsOfFirst() -> [String] { Self.drain(&first) }
        func outputsOfSecond() -> [String] { Self.drain(&second) }
        func transfer(_ key: ConnectionKey) -> TransferredConnection? { first.transfer(key) }
        func adopt(_ transferred: TransferredConnection) -> ConnectionKey? {
            second.adopt(transferred, now: RoomRouterTests.now)
        }
        func closeAtFirst(_ key: ConnectionKey) { first.closed(key, now: RoomRouterTests.now) }
        func revokeAtSecond(_ account: AccountName) { second.revoke(account, now: RoomRouterTests.now) }
        func drainSecond() { second.drain(retryAfter: .seconds(1), now: RoomRouterTests.now) }
        var statistics: (RelayStatistics, RelayStatistics) { (first.statistics, second.statistics) }

        func transmitted(_ key: ConnectionKey) throws -> [FrameType] {
            let log = FrameLog()
            let bytes = Framer.drain { second.transmit(on: key, into: &$0, now: RoomRouterTests.now) }
            try log.take(bytes, at: RoomRouterTests.now)
            return log.frames.map(\.type)
        }

        /// Sends a hello and the bytes behind it, and authenticates the peer.
        func greet(_ key: ConnectionKey, as account: AccountName, _ more: [UInt8] = []) {
            let hello = Hello(device: DeviceID(rawValue: 1), account: account)
            let bytes = FrameHeader(type: .hello).frame(body: hello.encode().rawBytes) + more
            first.receive(bytes.rawBytes, on: key, now: RoomRouterTests.now)
            let token = ResumeToken([UInt8](repeating: 7, count: ResumeToken.byteCount).rawBytes)!
            first.authenticated(
                key,
                .accepted(
                    Identity(account), TokenGrant(token: token, digest: TokenDigest(1, 2, 3, 4)), presented: nil),
                now: RoomRouterTests.now)
        }

        private static func drain(_ engine: inout RelayEngine) -> [String] {
            var all: [String] = []
            while let output = engine.nextOutput(now: RoomRouterTests.now) {
                switch output {
                case .link(.authenticate): all.append("authenticate")
                case .link(.transmit(let keys)): for _ in keys { all.append("transmit") }
                case .link(.close(_, let afterFlush)): all.append(afterFlush ? "close after flush" : "close")
                case .link(.pauseReading): all.append("pause")
                case .link(.resumeReading): all.append("resume")
                case .link(.transfer(_, let loop)): all.append("transfer to \(loop)")
                case .send(let loop, let messages): all.append("send \(loop) \(messages.count)")
                case .call(_, .authorize): all.append("authorize")
                case .store(let questions):
                    for question in questions {
                        if case .load(let room) = question { all.append("load \(room.text)") }
                    }
                case .link(.continueExchange), .bus, .call, .undelivered, .commandEnded, .note, .policyOverdue,
                    .link(.note):
                    break
                }
            }
            return all
        }
    }

    @Test func `a connection of an account of this loop is not transferred`() throws {
        let pair = Pair()
        let key = try #require(pair.accept())
        pair.greet(key, as: Self.account(on: 0))
        #expect(pair.outputsOfFirst() == ["transmit", "pause", "authenticate", "resume"])
        #expect(pair.statistics.0.links == 1)
        #expect(pair.transfer(key) == nil)
    }

    @Test func `a connection is transferred to the loop of its account, with the frames behind its hello`() throws {
        let pair = Pair()
        let key = try #require(pair.accept())
        let open = Open(room: .lobby, cursor: 0)
        let frame = FrameHeader(
            type: .open, sequence: 1, flags: FrameFlags(.reliable, priority: .high), session: .first
        ).frame(body: open.encode().rawBytes)
        pair.greet(key, as: Self.account(on: 1), frame)
        #expect(pair.outputsOfFirst() == ["pause", "authenticate", "transfer to 1"])
        let transferred = try #require(pair.transfer(key))
        #expect(pair.transfer(key) == nil)
        #expect(pair.statistics.0.connections == 0)
        let arrived = try #require(pair.adopt(transferred))
        let isLobbyHere = LoopPlace(index: 1, count: 2).loop(of: RoomName.lobby) == 1
        #expect(pair.outputsOfSecond() == ["transmit", "resume", isLobbyHere ? "load lobby" : "send 0 1"])
        #expect(try pair.transmitted(arrived).first == .welcome)
        #expect(pair.statistics.1.connections == 1 && pair.statistics.1.links == 1)
        #expect(pair.statistics.0.connectionsAccepted == 1 && pair.statistics.1.connectionsAccepted == 0)
    }

    //
    @Test func `a loop with fifteen sixteenths of its connections rejects one that it adopts for a new link`() throws {
        var configuration = RelayConfiguration()
        configuration.link.maxConnections = 16
        let pair = Pair(configuration)
        for number in 1...16 {
            let key = try #require(pair.accept())
            pair.greet(key, as: Self.account(on: 1))
            _ = pair.outputsOfFirst()
            let transferred = try #require(pair.transfer(key))
            let arrived = try #require(pair.adopt(transferred))
            _ = pair.outputsOfSecond()
            #expect(try pair.transmitted(arrived).first == (number < 16 ? .welcome : .reject))
        }
        #expect(pair.statistics.1.linksRefused == 1)
    }

    // C-11, C-45
    @Test func `a full loop adopts no connection, and a draining one rejects it`() throws {
        var configuration = RelayConfiguration()
        configuration.link.maxConnections = 1
        let pair = Pair(configuration)
        for isFirst in [true, false] {
            let key = try #require(pair.accept())
            pair.greet(key, as: Self.account(on: 1))
            _ = pair.outputsOfFirst()
            let transferred = try #require(pair.transfer(key))
            #expect((pair.adopt(transferred) != nil) == isFirst)
        }
        let draining = Pair()
        draining.drainSecond()
        let key = try #require(draining.accept())
        draining.greet(key, as: Self.account(on: 1))
        _ = draining.outputsOfFirst()
        let transferred = try #require(draining.transfer(key))
        let arrived = try #require(draining.adopt(transferred))
        #expect(draining.outputsOfSecond() == ["transmit", "close after flush"])
        #expect(try draining.transmitted(arrived) == [.reject])
        #expect(draining.statistics.1.links == 0)
    }

    @Test func `a connection that ends before its transfer is not transferred`() throws {
        let pair = Pair()
        let key = try #require(pair.accept())
        pair.greet(key, as: Self.account(on: 1))
        pair.closeAtFirst(key)
        #expect(pair.transfer(key) == nil)
    }

    // MARK: Several loops

    private static let names = ["alice", "bob", "carol", "dave", "erin"]

    private func party(_ world: VirtualWorld) throws -> [(client: VirtualClient, rooms: [RoomID])] {
        try Self.names.map { name in
            let client = world.addClient(name)
            let rooms = try (0..<4).map { number in
                try world.act(client) { engine, now in try engine.open(RoomName("room\(number)")!, now: now) }
            }
            world.act(client) { $0.handle(.start, now: $1) }
            return (client, rooms)
        }
    }

    @Test(arguments: [2, 3, 8]) func `messages in rooms of other loops arrive in order and once`(
        _ loopCount: Int
    ) throws {
        let world = VirtualWorld(loopCount: loopCount)
        let guests = try party(world)
        world.run(for: .seconds(1))
        for line in 0..<50 {
            for guest in guests {
                for room in guest.rooms { try world.send("\(line)", from: guest.client, in: room) }
            }
        }
        world.run(for: .seconds(30))
        for guest in guests {
            for room in guest.rooms {
                #expect(guest.client.accepted[room]?.count == 50)
                #expect(guest.client.texts(in: room).count == 50 * (guests.count - 1))
            }
        }
        #expect(world.relay.loops.statistics.links == guests.count && world.relay.loops.statistics.rooms == 4)
    }

    @Test func `a device resumes its link on any loop`() throws {
        let world = VirtualWorld(loopCount: 4)
        let guests = try party(world)
        world.run(for: .seconds(1))
        for guest in guests {
            world.cut(guest.client)
            try world.send("back", from: guest.client, in: guest.rooms[0])
        }
        world.run(for: .seconds(20))
        #expect(guests.allSatisfy { $0.client.engine.status.resumes == 1 })
        #expect(guests.allSatisfy { $0.client.texts(in: $0.rooms[0]).count == guests.count - 1 })
    }

    @Test func `a client that stops leaves the rooms of all loops`() throws {
        let world = VirtualWorld(loopCount: 4)
        let guests = try party(world)
        world.run(for: .seconds(1))
        #expect(world.relay.loops.statistics.rooms == 4)
        for guest in guests {
            world.act(guest.client) { engine, now in engine.handle(.stop, now: now) }
        }
        world.run(for: .seconds(5))
        #expect(world.relay.loops.statistics.rooms == 0 && world.relay.loops.statistics.links == 0)
    }

    // C-28, Specs/hostile.md row 24
    @Test func `an account revoked during a transfer between two loops is rejected`() throws {
        let pair = Pair()
        let key = try #require(pair.accept())
        pair.greet(key, as: Self.account(on: 1))
        _ = pair.outputsOfFirst()
        let transferred = try #require(pair.transfer(key))
        pair.revokeAtSecond(Self.account(on: 1))
        let arrived = try #require(pair.adopt(transferred))
        #expect(pair.outputsOfSecond() == ["transmit", "close after flush"])
        #expect(try pair.transmitted(arrived) == [.reject])
        #expect(pair.statistics.1.links == 0)
    }
}
