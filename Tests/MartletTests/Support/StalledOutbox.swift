import Martlet

/// Opens as told, and from then on answers nothing until it is let go.
final class StalledOutbox: Outbox {
    private let letGo = AsyncStream<Never>.makeStream()
    private let stallsOpening: Bool
    private let begun = Counted()

    /// Calls that have begun.
    var callCount: Int { begun.value }

    init(stallsOpening: Bool = false) {
        self.stallsOpening = stallsOpening
    }

    /// Every call returns, those of now and later.
    func release() {
        letGo.continuation.finish()
    }

    func open() async throws -> OutboxState {
        if stallsOpening { await stall() }
        return OutboxState(device: DeviceID(rawValue: 7), nextCounter: 1)
    }

    func append(_ entries: [OutboxEntry]) async throws { await stall() }
    func remove(_ ids: [MessageID], room: String) async throws { await stall() }
    func saveCursor(_ cursor: RoomCursor, room: String) async throws { await stall() }

    /// Cancelled, it goes on: an outbox need not obey.
    private func stall() async {
        begun.count()
        let gate = Task { [stream = letGo.stream] in for await _ in stream {} }
        await gate.value
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
