import Martlet

/// Opens as told, and from then on answers nothing until it is let go.
final class StalledOutbox: Outbox {
    private let letGo = AsyncStream<Never>.makeStream()
    private let stallsOpening: Bool
    private let obeys: Bool
    private let begun = Counted()

    /// Calls that have begun.
    var callCount: Int { begun.value }

    /// - Parameter obeys: a call that is cancelled throws; an outbox need not.
    init(stallsOpening: Bool = false, obeys: Bool = false) {
        self.stallsOpening = stallsOpening
        self.obeys = obeys
    }

    /// Every call returns, those of now and later.
    func release() {
        letGo.continuation.finish()
    }

    func open() async throws -> OutboxState {
        if stallsOpening { try await stall() }
        return OutboxState(device: DeviceID(rawValue: 7), nextCounter: 1)
    }

    func append(_ entries: [OutboxEntry]) async throws { try await stall() }
    func remove(_ ids: [MessageID], room: String) async throws { try await stall() }
    func saveCursor(_ cursor: RoomCursor, room: String) async throws { try await stall() }

    private func stall() async throws {
        begun.count()
        let gate = Task { [stream = letGo.stream] in for await _ in stream {} }
        guard obeys else { return await gate.value }
        await withTaskCancellationHandler {
            await gate.value
        } onCancel: {
            gate.cancel()
        }
        try Task.checkCancellation()
    }
}

/// Fails at everything but opening.
struct FailingOutbox: Outbox {
    struct DiskFull: Error {}

    func open() async throws -> OutboxState { OutboxState(device: DeviceID(rawValue: 7), nextCounter: 1) }
    func append(_ entries: [OutboxEntry]) async throws { throw DiskFull() }
    func remove(_ ids: [MessageID], room: String) async throws { throw DiskFull() }
    func saveCursor(_ cursor: RoomCursor, room: String) async throws { throw DiskFull() }
}
