import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire
import Synchronization
import Testing

@Suite("The trace of a call that sends")
struct SendTraceTests {
    // C-108
    @Test(arguments: 1...60)
    func `sends, retries, refusals, failures and stops at random → a call throws only without a trace`(
        _ seed: UInt64
    ) throws {
        let world = TestWorld(seed: seed)
        let found = try world.run(timeLimit: .seconds(100_000)) { try await self.faults(in: world) }
        #expect(found == [])
    }

    // C-108
    @Test func `the relay refuses the room while the outbox stores a message → a handle, and a dead letter`() throws {
        let world = TestWorld(seed: 1)
        try world.run(timeLimit: .seconds(1000)) { () -> Void in
            let gate = Gate()
            gate.isOpen = false
            try world.startRelay(policy: gate)
            let outbox = UnreliableOutbox(world, maxDelay: 60_000, failureOf: 0)
            let client = try await world.device("alice", outbox: outbox).start()
            let room = try await client.open(room: "a", options: Room.Options(waitsForRelay: false))
            let handle = try await room.send("refused")
            #expect(room.hasEnded)
            #expect(handle.state == .failed(.refused(.roomForbidden, reason: nil)))
            #expect(try await room.deadLetters().map(\.id) == [handle.id])
        }
    }

    /// Lets an application send in one room, and compares the answers of its calls with what they have left.
    private func faults(in world: TestWorld) async throws -> [String] {
        let gate = Gate()
        let relay = try world.startRelay(policy: gate)
        let outbox = UnreliableOutbox(world, maxDelay: 40, failureOf: 8)
        let device = world.device("alice", outbox: outbox)
        device.configuration.flushTimeout = .milliseconds(Int64(world.nextRandom() % 100))
        device.configuration.maxPendingMessages = 6
        let answers = Answers()
        let rooms = OpenRoom(try await device.start())
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<12 {
                        await Self.act("\(task).\(number)", in: rooms, world, answers)
                    }
                }
            }
            group.addTask {
                for _ in 0..<10 {
                    try? await world.sleep(for: .milliseconds(Int64(world.nextRandom() % 60)))
                    gate.isOpen.toggle()
                    await relay.relay?.revokeRoomDecisions()
                }
            }
            group.addTask {
                try? await world.sleep(for: .milliseconds(Int64(world.nextRandom() % 700)))
                await device.stop()
            }
        }
        gate.isOpen = true
        let reader = try await world.device("reader").start().open(room: "a", options: Room.Options(from: .start))
        let published = try await reader.messages(before: nil, limit: 256).messages.compactMap(\.text)
        let state = outbox.base.open()
        let traces = Set(
            published + state.pending.compactMap(\.content.text)
                + outbox.base.deadLetters(in: "a").compactMap(\.content.text))
        var faults: [String] = []
        if Set(published).count != published.count { faults.append("published more than once: \(published)") }
        for (text, answer) in answers.all.sorted(by: { $0.key < $1.key }) {
            switch answer {
            case .handle where !traces.contains(text): faults.append("\(text) has a handle and no trace")
            case .threw(let error) where traces.contains(text): faults.append("\(text) threw \(error), with a trace")
            default: break
            }
        }
        return faults
    }

    /// Sends a message in a room that it opens if necessary, cancels some calls, and retries dead letters.
    private static func act(
        _ text: String, in rooms: OpenRoom, _ world: TestWorld, _ answers: Answers
    ) async {
        try? await world.sleep(for: .milliseconds(Int64(world.nextRandom() % 30)))
        guard let room = await rooms.room() else { return }
        // The relay may have accepted a message with an unknown outcome.
        if world.nextRandom() % 4 == 0,
            let letter = try? await room.deadLetters().first(where: { $0.failure != .outcomeUnknown })
        {
            _ = try? await room.retry(letter)
        }
        let choice = world.nextRandom() % 8
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    _ = try await room.send(text)
                    answers.note(text, .handle)
                } catch {
                    answers.note(text, .threw("\(error)"))
                }
            }
            if choice == 0 {
                try? await world.sleep(for: .milliseconds(Int64(world.nextRandom() % 30)))
                group.cancelAll()
            }
        }
        if choice == 1 { await room.close() }
    }
}

/// What a call has answered.
private enum Answer: Equatable {
    case handle
    case threw(String)
}

/// The answers of the calls by the texts of their messages.
private final class Answers: Sendable {
    private let state = Mutex<[String: Answer]>([:])

    var all: [String: Answer] { state.withLock { $0 } }

    func note(_ text: String, _ answer: Answer) { state.withLock { $0[text] = answer } }
}

/// The room of a client, which is opened again when it has ended.
private final class OpenRoom: Sendable {
    private let client: Client
    private let latest = Mutex<Room?>(nil)

    init(_ client: Client) {
        self.client = client
    }

    func room() async -> Room? {
        if let room = latest.withLock({ $0 }), !room.hasEnded { return room }
        if let room = try? await client.open(room: "a", options: Room.Options(waitsForRelay: false)) {
            latest.withLock { $0 = room }
        }
        return latest.withLock { $0 }
    }
}

/// A policy that admits while it is open.
private final class Gate: ImmediateRoomPolicy {
    private let state = Mutex(true)

    var isOpen: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        isOpen ? .granted(.all) : .refused
    }
}

/// An outbox in memory whose calls take virtual time, and of whose transactions some store nothing and throw.
private final class UnreliableOutbox: Outbox {
    struct Fault: Error {}

    let base = InMemoryOutbox(device: DeviceID(rawValue: 7))
    private let world: TestWorld
    private let delay: UInt64
    private let failureOf: UInt64

    /// - Parameter failureOf: One of so many transactions fails; none if it is 0.
    init(_ world: TestWorld, maxDelay: UInt64, failureOf: UInt64) {
        self.world = world
        delay = maxDelay
        self.failureOf = failureOf
    }

    private func pause() async {
        // A cancelled call continues, as on a disk.
        let duration = Duration.milliseconds(Int64(delay / 2 + world.nextRandom() % (delay / 2)))
        await world.startTask { [world] in try? await world.sleep(for: duration) }.value
    }

    func open() async throws -> OutboxState {
        await pause()
        return base.open()
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        await pause()
        if failureOf > 0, world.nextRandom() % failureOf == 0 { throw Fault() }
        base.commit(transaction)
        await pause()
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] {
        await pause()
        return base.deadLetters(in: room)
    }
}
