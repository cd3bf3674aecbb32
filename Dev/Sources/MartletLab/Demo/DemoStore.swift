import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// A store in memory that accepts one room and fails to load all others.
final class DemoStore: RoomStore {
    private struct Refusal: Error {}

    private let inner: InMemoryStore
    private let room: RoomName

    init(_ inner: InMemoryStore, of room: RoomName) {
        self.inner = inner
        self.room = room
    }

    var features: RoomStoreFeatures { .memberships }

    func perform(_ calls: [RoomStoreCall]) {
        for call in calls {
            if case .load(let room, _) = call, room != self.room {
                call.fail(Refusal())
            } else {
                inner.perform([call])
            }
        }
    }
}
