import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

/// Each pending call ends, for each combination of calls and circumstances: some by themselves, all others when the
/// client has stopped, and a send to an outbox that does not answer when the outbox has answered.
@Suite("Each pending call ends", .timeLimit(.minutes(10)))
struct AwaitTests {
    enum Setting: CaseIterable, Sendable {
        case online, offline, stalledOutbox, failingOutbox, stalledOpening, stoppedLoop
    }

    /// All pairs and triples of calls, including repeated calls.
    private static let combinations: [[Call]] = {
        let calls = Call.allCases
        var all: [[Call]] = []
        for first in calls.indices {
            for second in calls.indices[first...] {
                all.append([calls[first], calls[second]])
                for third in calls.indices[second...] { all.append([calls[first], calls[second], calls[third]]) }
            }
        }
        return all
    }()

    @Test(arguments: Setting.allCases)
    func `three concurrent calls end in each setting`(setting: Setting) async throws {
        guard setting == .online else { return try await runAll(setting, "martlet://127.0.0.1:1") }
        try await withRelay { try await runAll(setting, $0) }
    }

    private func runAll(_ setting: Setting, _ relay: String) async throws {
        let loop = try EventLoop(name: "awaits")
        var random = SeededRandom(seed: 17)
        for calls in Self.combinations {
            let seed = random.next()
            let own = try setting == .stoppedLoop ? EventLoop(name: "stopped") : loop
            let left = try await run(calls, setting, relay, on: own, seed: seed)
            if own !== loop { await own.shutdown() }
            guard left.isEmpty else {
                Issue.record("\(setting), \(calls), seed \(seed): \(left) did not end")
                return
            }
        }
        await loop.shutdown()
    }

    /// Returns the calls that did not end.
    private func run(
        _ calls: [Call], _ setting: Setting, _ relay: String, on loop: EventLoop, seed: UInt64
    ) async throws -> [Call] {
        var random = SeededRandom(seed: seed)
        let stalled = StalledOutbox(stallsOpening: setting == .stalledOpening)
        defer { stalled.release() }
        let outbox: any Outbox =
            switch setting {
            case .online, .offline, .stoppedLoop: InMemoryOutbox()
            case .stalledOutbox, .stalledOpening: stalled
            case .failingOutbox: FailingOutbox()
            }
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        let client = try Client(
            to: relay, as: .anonymous("alice"), outbox: outbox, configuration: configuration, on: loop)
        var room: Martlet.Room?
        if setting != .stalledOpening {
            try await client.start()
            room = try await client.open(room: "lobby", options: .offline)
        }
        let hold = random.next() % 2 == 0 ? LoopHold(loop) : nil
        let isCancelled = random.next() % 4 == 0
        let run = CallRun()
        run.begin(calls.sorted { _, _ in random.next() % 2 == 0 }, client, room)
        let shutdown = setting == .stoppedLoop ? Task { await loop.shutdown() } : nil
        for _ in 0..<random.next() % 16 { await Task.yield() }
        hold?.release()
        if isCancelled { run.cancel() }
        var left = await run.end(\.isSoonOver)
        let end = CallRun()
        end.begin([.stop], client, nil)
        left += await end.end()
        // A send whose message the outbox is storing ends with the answer of the outbox (C-108).
        if setting == .stalledOutbox { stalled.release() }
        left += await run.end()
        await shutdown?.value
        return left
    }
}
