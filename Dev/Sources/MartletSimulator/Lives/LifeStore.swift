import MartletLink
import MartletRelay
import MartletWire

/// A store without delay, which can fail, records what is durable, and can be replaced by an earlier copy.
final class LifeStore: RoomStore, @unchecked Sendable {
    // used by the thread that runs the world
    /// A backup of the store.
    private struct Copy {
        let store: InMemoryStore
        let branches: [RoomName: [LogID: UInt64]]
        let ends: [RoomName: UInt64]
    }

    private(set) var present: InMemoryStore
    private let ledger: Ledger
    /// The calls that fail; nil for none.
    var failing: Fault.StorePart?
    private var branches: [RoomName: [LogID: UInt64]] = [:]
    private var copy: Copy?

    init(_ base: InMemoryStore, _ ledger: Ledger) {
        present = base
        self.ledger = ledger
    }

    var features: RoomStoreFeatures { .memberships }

    var retention: RoomRetention { present.retention }

    func perform(_ calls: [RoomStoreCall]) {
        for call in calls {
            switch call {
            case .load where failing == .load, .read where failing == .read: call.fail(StorageFault())
            case .append where failsAppends, .saveMemberships where failsAppends: call.fail(StorageFault())
            case .load(let room, let reply): reply.succeed(snapshot(of: room))
            case .append(let new, let reply): reply.complete { try append(new) }
            default: present.perform([call])
            }
        }
    }

    private var failsAppends: Bool { failing == .append || failing == .appendHalf }

    private func snapshot(of room: RoomName) -> RoomSnapshot {
        var snapshot = present.load(room)
        snapshot.branches = branches[room] ?? [:]
        ledger.logs.begin(room, as: snapshot.log)
        return snapshot
    }

    private func append(_ new: RoomAppend) throws -> UInt64 {
        let first = try present.append(new.entries, erasing: new.erasures, to: new.room)
        ledger.stored(new.entries, in: new.room)
        for erasure in new.erasures { ledger.logs.erase(erasure, in: new.room) }
        return first
    }

    // MARK: - Copies

    /// Makes a backup.
    ///
    /// - Parameter firstLog: The identity that the first log has after a restoration.
    func makeCopy(firstLog: UInt64) {
        var (branches, ends) = (branches, [RoomName: UInt64]())
        for room in ledger.logs.rooms {
            let snapshot = present.load(room)
            ends[room] = snapshot.lastOffset
            branches[room, default: [:]][snapshot.log!] = snapshot.lastOffset
        }
        copy = Copy(store: present.copy(firstLog: firstLog), branches: branches, ends: ends)
    }

    var hasCopy: Bool { copy != nil }

    /// Replaces the store by the backup, which is used once, while no relay uses the store.
    func restore() {
        guard let copy else { return }
        self.copy = nil
        present = copy.store
        branches = copy.branches
        for room in ledger.logs.rooms {
            ledger.replacedLog(of: room, by: present.load(room).log, upTo: copy.ends[room] ?? 0)
        }
    }
}
