import Foundation
import Martlet
import MartletTransport
import Testing

/// Many clients in many rooms: each member receives each message of its room once, in the order of offsets.
///
/// `make scenarios SCENARIOS=crowd` runs this test with 2,000 clients and a relay in another process, and prints the
/// figures of that run.
@Suite("Many clients on one loop", .timeLimit(.minutes(10)))
struct CrowdTests {
    private struct Size {
        var clients = 200
        var rooms = 10
        var messagesPerClient = 5
        /// The address of a relay in another process. With it, the test prints its figures.
        var relay: String?

        static var requested: Size {
            let environment = ProcessInfo.processInfo.environment
            func number(_ name: String) -> Int? { environment["MARTLET_CROWD_\(name)"].flatMap(Int.init) }
            var size = Size()
            size.relay = environment["MARTLET_CROWD_RELAY"]
            size.clients = number("CLIENTS") ?? size.clients
            size.rooms = number("ROOMS") ?? size.rooms
            size.messagesPerClient = number("MESSAGES") ?? size.messagesPerClient
            return size
        }

        /// The number of members of a room. Room 0 has the most.
        func members(of room: Int) -> Int { clients / rooms + (room < clients % rooms ? 1 : 0) }
        func messages(in room: Int) -> Int { members(of: room) * messagesPerClient }
        var deliveries: Int { (0..<rooms).reduce(0) { $0 + members(of: $1) * messages(in: $1) } }
    }

    @Test func `each member of many rooms receives each message once and in order`() async throws {
        let size = Size.requested
        let loop = try EventLoop(name: "crowd")
        if let relay = size.relay {
            try await meet(at: relay, size, on: loop)
        } else {
            try await withRelay { try await meet(at: $0, size, on: loop) }
        }
        await loop.shutdown()
    }

    private func meet(at relay: String, _ size: Size, on loop: EventLoop) async throws {
        let clock = ContinuousClock()
        var clients: [Client] = []
        for number in 0..<size.clients {
            clients.append(try Client(to: relay, as: .anonymous("member-\(number)"), on: loop))
        }
        let began = clock.now
        let rooms = try await open(clients, size)
        let opened = clock.now
        let received = try await converse(rooms, size)
        let ended = clock.now
        for room in 0..<size.rooms {
            let logs = stride(from: room, to: size.clients, by: size.rooms).map { received[$0] }
            #expect(logs[0].count == size.messages(in: room))
            #expect(logs.allSatisfy { $0 == logs[0] })
            #expect(Set(logs[0]).count == logs[0].count)
        }
        let reconnects = await stop(clients)
        guard size.relay != nil else { return }
        report(size, opening: opened - began, conversation: ended - opened, reconnects: reconnects)
    }

    private func open(_ clients: [Client], _ size: Size) async throws -> [Room] {
        try await inOrder(clients.indices) { index in
            try await clients[index].start()
            let options = Room.Options(from: .start, includesOwnMessages: true)
            return try await clients[index].open(room: "room-\(index % size.rooms)", options: options)
        }
    }

    /// The IDs of the messages that each member has received. Their offsets must be 1, 2, 3 and so on.
    private func converse(_ rooms: [Room], _ size: Size) async throws -> [[MessageID]] {
        try await inOrder(rooms.indices) { index in
            for number in 1...size.messagesPerClient { try await rooms[index].send("\(index): \(number)") }
            var ids: [MessageID] = []
            for try await message in rooms[index].messages {
                ids.append(message.id)
                #expect(message.offset == UInt64(ids.count))
                if ids.count == size.messages(in: index % size.rooms) { break }
            }
            return ids
        }
    }

    private func stop(_ clients: [Client]) async -> UInt64 {
        let counts = try? await inOrder(clients.indices) { index in
            await clients[index].stop()
            return UInt64(await clients[index].metrics["martlet_client_reconnects"] ?? 0)
        }
        return (counts ?? []).reduce(0, +)
    }

    /// Runs one task for each index, and returns the results in the order of the indices.
    private func inOrder<Value: Sendable>(
        _ indices: Range<Int>, _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for index in indices { group.addTask { (index, try await body(index)) } }
            var values: [Int: Value] = [:]
            for try await (index, value) in group { values[index] = value }
            return indices.map { values[$0]! }
        }
    }

    private func report(_ size: Size, opening: Duration, conversation: Duration, reconnects: UInt64) {
        let deliveries = Double(size.deliveries)
        print(
            """
            crowd: \(size.clients) clients in \(size.rooms) rooms, on one loop of one process, the relay in another
            crowd: connected, and rooms opened, within \(opening.text), \(reconnects) reconnects
            crowd: \(size.clients * size.messagesPerClient) messages, \(size.deliveries) deliveries within \
            \(conversation.text), \(Int(deliveries / conversation.seconds)) a second
            crowd: each member received each message of its room once, in the order of offsets
            """)
    }
}

extension Duration {
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    fileprivate var text: String { String(format: "%.2f s", seconds) }
}
