import DatabaseRig
import Foundation
import Martlet
import Synchronization

/// A large room whose members are at one relay, or spread over three: what a delivery takes of the relays' processors.
enum FanOut {
    private static let memberCount = 300
    private static let text = String(repeating: "m", count: 64)

    static func run(_ seconds: Double, _ bars: inout Bars) async throws {
        let server = try Server()
        defer { server.stop() }
        let nats = try NATSServer()
        defer { nats.stop() }
        print("a room of \(memberCount) members")
        for (publisherCount, window) in [(1, 32), (1, 1), (3, 32)] {
            for bus in [Bus.nats, .notify] {
                let one = try await deliveries(1, bus, publisherCount, window, server.uri, seconds)
                let three = try await deliveries(3, bus, publisherCount, window, server.uri, seconds)
                print(
                    "  \(publisherCount) publisher(s), \(window) in flight each, \(bus.rawValue):",
                    "\(Int(one)) deliveries in a second of one relay's processor,",
                    "\(Int(three)) in one of three relays':",
                    "\(decimal(3 * three / one)) times as many with three processors")
                // A burst of one publisher is in appends of different sizes in each run.
                guard bus == .nats, publisherCount > 1 else { continue }
                bars.check(
                    "deliveries of three relays' processors by those of one, three publishers", 3 * three / one,
                    atLeast: 2.5)
            }
        }
    }

    /// Deliveries for each second of the processors of all relays. Messages are in flight until all members have them.
    private static func deliveries(
        _ relayCount: Int, _ bus: Bus, _ publisherCount: Int, _ window: Int, _ database: String, _ seconds: Double
    ) async throws -> Double {
        let relays = try (0..<relayCount).map { _ in try RelayProcess(database, bus) }
        defer { for relay in relays { relay.stop() } }
        let received = Received()
        var clients: [Client] = []
        var publishers: [Room] = []
        for index in 0..<memberCount {
            let client = try await relays[index % relayCount].client("member \(index)")
            clients.append(client)
            let room = try await client.open(room: "large \(relayCount) \(bus) \(publisherCount) \(window)")
            if index < publisherCount { publishers.append(room) }
            Task { for try await _ in room.messages { received.add() } }
        }
        // Presence reaches all members meanwhile.
        try await Task.sleep(for: .seconds(3))
        var (busy, first): (Double, Int) = (0, 0)
        for duration in [1, seconds] {
            (busy, first) = (relays.processorSeconds, received.expected)
            let end = ContinuousClock.now + .seconds(duration)
            while ContinuousClock.now < end {
                received.expect(publisherCount * window * (memberCount - 1))
                for room in publishers { for _ in 0..<window { try await room.send(text) } }
                await received.all()
            }
        }
        busy = relays.processorSeconds - busy
        for client in clients { await client.stop() }
        return Double(received.expected - first) / busy
    }
}

/// The messages that members have received, of those that they are to receive.
private final class Received: Sendable {
    private let state = Mutex((count: 0, expected: 0, waiter: CheckedContinuation<Void, Never>?.none))

    var expected: Int { state.withLock { $0.expected } }

    func expect(_ count: Int) { state.withLock { $0.expected += count } }

    func add() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count += 1
            return state.count == state.expected ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    func all() async {
        await withCheckedContinuation { continuation in
            let isComplete = state.withLock { state in
                if state.count < state.expected { state.waiter = continuation }
                return state.count == state.expected
            }
            if isComplete { continuation.resume() }
        }
    }
}
