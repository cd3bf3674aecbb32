import Martlet

/// An outbox whose calls do not return until it is released.
final class StalledOutbox: Outbox {
    private let released = AsyncStream<Never>.makeStream()
    private let stallsOpening: Bool
    private let stallsClosing: Bool
    private let obeys: Bool
    private let begun = Counted()
    private let closed = Counted()

    /// The number of calls that did not return at once.
    var callCount: Int { begun.value }
    /// The number of calls of `close` that have returned.
    var closeCount: Int { closed.value }

    /// - Parameter obeys: Whether a cancelled call throws, which is optional for an outbox.
    init(stallsOpening: Bool = false, stallsClosing: Bool = false, obeys: Bool = false) {
        self.stallsOpening = stallsOpening
        self.stallsClosing = stallsClosing
        self.obeys = obeys
    }

    /// Ends all current and later calls.
    func release() {
        released.continuation.finish()
    }

    func open() async throws -> OutboxState {
        if stallsOpening { try await stall() }
        return OutboxState(device: DeviceID(rawValue: 7), nextCounter: 1)
    }

    func close() async {
        if stallsClosing { try? await stall() }
        closed.count()
    }

    func commit(_ transaction: OutboxTransaction) async throws { try await stall() }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] {
        try await stall()
        return []
    }

    private func stall() async throws {
        begun.count()
        let gate = Task { [stream = released.stream] in for await _ in stream {} }
        guard obeys else { return await gate.value }
        await withTaskCancellationHandler {
            await gate.value
        } onCancel: {
            gate.cancel()
        }
        try Task.checkCancellation()
    }
}

/// An outbox whose methods other than `open` throw.
struct FailingOutbox: Outbox {
    struct DiskFull: Error {}

    func open() async throws -> OutboxState { OutboxState(device: DeviceID(rawValue: 7), nextCounter: 1) }
    func commit(_ transaction: OutboxTransaction) async throws { throw DiskFull() }
    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { throw DiskFull() }
}
