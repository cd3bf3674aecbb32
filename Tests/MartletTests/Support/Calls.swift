import Dispatch
import MartletTransport

@testable import Martlet

/// The calls of the public API that wait for something.
enum Call: CaseIterable, Sendable {
    case start, stop, statistics, open, openOffline, status
    case close, request, send, cancelMessage, accepted, states, messages, items, events, requests

    /// Whether the call ends by itself, whatever else happens; every other ends with the client at the latest.
    var isSoonOver: Bool {
        switch self {
        case .stop, .statistics, .close, .cancelMessage: true
        default: false
        }
    }

    func perform(_ client: Client, _ room: Room?) async throws {
        switch self {
        case .start: try await client.start()
        case .stop: await client.stop()
        case .statistics: _ = await client.statistics
        case .open: _ = try await client.open(room: "other")
        case .openOffline: _ = try await client.open(room: "another", options: .offline)
        case .status: for await _ in client.status {}
        default: if let room { try await perform(in: room) }
        }
    }

    private func perform(in room: Room) async throws {
        let handle = MessageHandle(room: room.core, counter: 1)
        switch self {
        case .close: await room.close()
        case .request: _ = try await room.request("wait", to: "nobody", deadline: .seconds(3600))
        case .send: try await room.send("hello")
        case .cancelMessage: await handle.cancel()
        case .accepted: _ = try await handle.accepted()
        case .states: for await _ in handle.states {}
        case .messages: for try await _ in room.messages {}
        case .items: for try await _ in room.items {}
        case .events: for await _ in room.events {}
        default: for await _ in room.requests {}
        }
    }
}

/// Calls under way at the same time, by name.
final class CallRun: Sendable {
    /// Far longer than any call takes: a call that has not ended by then is reported as one that never ends.
    private static let patienceSeconds = 120.0

    private let pending = Guarded<[Int: Call]>([:])
    private let tasks = Guarded<[Int: Task<Void, Never>]>([:])

    func begin(_ calls: [Call], _ client: Client, _ room: Room?) {
        for (number, call) in calls.enumerated() {
            pending.withLock { $0[number] = call }
            let task = Task {
                try? await call.perform(client, room)
                self.pending.withLock { _ = $0.removeValue(forKey: number) }
            }
            tasks.withLock { $0[number] = task }
        }
    }

    func cancel() {
        for task in tasks.withLock({ $0.values }) { task.cancel() }
    }

    /// Waits for the calls that `isMeant`; answers those that have not ended.
    func end(_ isMeant: @escaping @Sendable (Call) -> Bool = { _ in true }) async -> [Call] {
        let waiting = pending.withLock { $0.filter { isMeant($0.value) }.keys.sorted() }
        guard !waiting.isEmpty else { return [] }
        let over = Promise<Void>()
        let all = Task {
            for number in waiting { await tasks.withLock { $0[number] }?.value }
            over.resolve(.success(()))
        }
        // A watchdog can make a test fail, never pass: what has not ended by then is answered.
        let watchdog = DispatchWorkItem { over.resolve(.success(())) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patienceSeconds, execute: watchdog)
        try? await over.value()
        watchdog.cancel()
        _ = all
        return pending.withLock { $0.values.filter(isMeant) }
    }
}

/// Holds a loop in one turn, so that what is handed over meanwhile is taken together.
final class LoopHold: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    init(_ loop: EventLoop) {
        loop.execute { [semaphore] in semaphore.wait() }
    }

    func release() {
        semaphore.signal()
    }
}
