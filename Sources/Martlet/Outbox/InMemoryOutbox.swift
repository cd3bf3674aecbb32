public import MartletProtocol
import MartletTransport
public import MartletWire

/// An outbox that lives as long as its object: nothing survives the process, but another client can be started from it.
///
/// Its messages are bounded by the rooms' bounds, its cursors by `maxCursorCount`.
public final class InMemoryOutbox: ImmediateOutbox {
    /// Rooms whose cursors are remembered; of one more room the cursor is not.
    public static let maxCursorCount = 65_536

    private struct State {
        var device: DeviceID
        var nextCounter: UInt64 = 1
        var pending: [String: Deque<OutboxEntry>] = [:]
        var cursors: [String: RoomCursor] = [:]
    }

    private let state: Guarded<State>

    /// An empty outbox of a new device.
    public init() {
        state = Guarded(State(device: DeviceID(rawValue: .random(in: 1 ... .max))))
    }

    /// What was put into this object and not removed.
    public func open() -> OutboxState {
        state.withLock { state in
            let pending = state.pending.values.flatMap { $0 }.sorted { $0.id.counter < $1.id.counter }
            return OutboxState(
                device: state.device, nextCounter: state.nextCounter, pending: pending, cursors: state.cursors)
        }
    }

    /// Keeps messages.
    public func append(_ entries: [OutboxEntry]) {
        state.withLock { state in
            for entry in entries {
                state.nextCounter = max(state.nextCounter, entry.id.counter + 1)
                state.pending[entry.room, default: []].append(entry)
            }
        }
    }

    /// Forgets messages.
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

    /// Remembers how far a room was read.
    public func saveCursor(_ cursor: RoomCursor, room: String) {
        state.withLock { state in
            guard state.cursors[room] != nil || state.cursors.count < Self.maxCursorCount else { return }
            state.cursors[room].advance(to: cursor)
        }
    }
}

extension Outbox where Self == InMemoryOutbox {
    /// A new outbox that lives no longer than the client.
    public static var memory: InMemoryOutbox { InMemoryOutbox() }
}
