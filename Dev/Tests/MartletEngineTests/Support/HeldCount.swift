import MartletSimulator

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

/// The number of elements in all collections of a value, of its properties and of their elements.
func heldCount(in value: Any) -> Int {
    if let elements = value as? any Collection {
        return elements.reduce(elements.count) { count, element in count + heldCount(in: element) }
    }
    return Mirror(reflecting: value).children.reduce(0) { $0 + heldCount(in: $1.value) }
}

extension VirtualClient {
    /// The number of elements that the engine holds.
    var heldCount: Int {
        let parts: [Any] = [
            engine.client.connection, engine.rooms.outputs, engine.roundTrips, engine.rooms.rooms,
            engine.rooms.idOfSession, engine.rooms.requests, engine.rooms.timers,
        ]
        return MartletEngineTests.heldCount(in: parts) + engine.client.link.heldCount
    }
}

extension Link {
    /// The number of sessions, of their frames, and of the elements of the link's other collections.
    fileprivate var heldCount: Int {
        let parts: [Any] = [connection, arrivals, sessions.recentlyEnded]
        return sessions.liveSlots.reduce(MartletEngineTests.heldCount(in: parts)) { count, slot in
            count + 1 + sessions[slot].send.count + sessions[slot].receive.heldFrameCount
                + sessions[slot].transients.count
        }
    }
}

extension VirtualRelay {
    /// The number of elements that the engine holds, without the messages of the rooms and the connections that
    /// transmitted in the last turn.
    var heldCount: Int { engine.heldCount }
}

extension RelayEngine {
    fileprivate var heldCount: Int {
        var count = server.connections.heldCount + sessions.links.heldCount + server.transmits.heldCount
        for slot in sessions.rooms.local.rooms.slots {
            count +=
                sessions.rooms.local.rooms.read(slot) {
                    $0.members.slotCount + $0.requests.count + $0.publication.publishers.count
                } ?? 0
        }
        return count + MartletEngineTests.heldCount(in: sessions.outputs)
    }
}
