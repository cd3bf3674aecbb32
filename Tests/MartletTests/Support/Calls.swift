import Dispatch
import MartletTransport

@testable import Martlet

/// The calls of the public API that wait.
enum Call: CaseIterable, Sendable {
    case start, stop, metrics, open, openOffline, status
    case close, request, send, cancelMessage, accepted, states, messages, items, events, requests

    /// Whether the call ends by itself in each setting. Each other call ends with the client at the latest.
    var isSoonOver: Bool {
        switch self {
        case .stop, .metrics, .close, .cancelMessage: true
        default: false
        }
    }

    func perform(_ client: Client, _ room: Room?) async throws {
        switch self {
        case .start: try await client.start()
        case .stop: await client.stop()
        case .metrics: _ = await client.metrics
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
        case .request: _ = try await room.request("wait", to: "nobody", timeout: .seconds(3600))
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

/// Concurrent calls by number.
final class CallRun: Sendable {
    /// A multiple of the duration of any call. A call that has not ended by then is reported.
    private static let patienceSeconds = 300.0

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

    /// Waits for the calls that match, and returns those that have not ended.
    func end(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }) async -> [Call] {
        let waiting = pending.withLock { $0.filter { matches($0.value) }.keys.sorted() }
        guard !waiting.isEmpty else { return [] }
        let over = Promise<Void>()
        let all = Task {
            for number in waiting { await tasks.withLock { $0[number] }?.value }
            over.resolve(.success(()))
        }
        // The watchdog ends the wait, so that calls without an end are reported.
        let watchdog = DispatchWorkItem { over.resolve(.success(())) }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patienceSeconds, execute: watchdog)
        try? await over.value()
        watchdog.cancel()
        _ = all
        return pending.withLock { $0.values.filter(matches) }
    }
}

/// Holds a loop in one turn, so that the commands of that time are taken together.
final class LoopHold: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    init(_ loop: EventLoop) {
        loop.execute { [semaphore] in semaphore.wait() }
    }

    func release() {
        semaphore.signal()
    }
}
