public import MartletProtocol
import MartletTransport
public import MartletWire

/// An outbox in memory. Its contents are lost at the end of the process; until then, another client can be started with
/// it.
///
/// Its messages are bounded by the limits of the rooms, its cursors by ``maxCursorCount``.
public final class InMemoryOutbox: ImmediateOutbox {
    /// The maximum number of rooms whose cursors are stored. Cursors of further rooms are discarded.
    public static let maxCursorCount = 65_536

    private struct State {
        var device: DeviceID
        var nextCounter: UInt64 = 1
        var pending: [String: Deque<OutboxEntry>] = [:]
        var cursors: [String: RoomCursor] = [:]
    }

    private let state: Guarded<State>

    /// Creates an empty outbox with a random device ID.
    public init() {
        state = Guarded(State(device: DeviceID(rawValue: .random(in: 1 ... .max))))
    }

    /// Returns the stored messages and cursors.
    public func open() -> OutboxState {
        state.withLock { state in
            let pending = state.pending.values.flatMap { $0 }.sorted { $0.id.counter < $1.id.counter }
            return OutboxState(
                device: state.device, nextCounter: state.nextCounter, pending: pending, cursors: state.cursors)
        }
    }

    /// Stores messages.
    public func append(_ entries: [OutboxEntry]) {
        state.withLock { state in
            for entry in entries {
                state.nextCounter = max(state.nextCounter, entry.id.counter + 1)
                state.pending[entry.room, default: []].append(entry)
            }
        }
    }

    /// Removes messages.
    public func remove(_ ids: [MessageID], room: String) {
        state.withLock { state in
            guard let index = state.pending.index(forKey: room) else { return }
            for id in ids {
                if state.pending.values[index].first?.id == id {
                    _ = state.pending.values[index].popFirst()
                } else if state.pending.values[index].contains(where: { $0.id == id }) {
                    state.pending.values[index] = Deque(state.pending.values[index].filter { $0.id != id })
                }
            }
            if state.pending.values[index].isEmpty { state.pending.remove(at: index) }
        }
    }

    /// Stores the cursor of a room. A lower cursor of the same log has no effect.
    public func saveCursor(_ cursor: RoomCursor, room: String) {
        state.withLock { state in
            guard state.cursors[room] != nil || state.cursors.count < Self.maxCursorCount else { return }
            state.cursors[room].advance(to: cursor)
        }
    }
}

extension Outbox where Self == InMemoryOutbox {
    /// A new outbox in memory.
    public static var memory: InMemoryOutbox { InMemoryOutbox() }
}
