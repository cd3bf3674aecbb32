import MartletProtocol

/// The connections of a driver by their keys' slots, which the engine gives out again and again.
///
/// A slot that is free for the engine may have a connection here that is still to be closed; when another comes to the
/// slot before that, the older one is set aside.
struct PeerTable {
    private var places: ContiguousArray<PeerConnection?> = []
    private var aside: [ConnectionKey: PeerConnection] = [:]
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(key: ConnectionKey) -> PeerConnection? {
        if key.index < places.count, let peer = places[key.index], peer.key == key { return peer }
        return aside.isEmpty ? nil : aside[key]
    }

    mutating func insert(_ peer: PeerConnection) {
        while places.count <= peer.key.index { places.append(nil) }
        if let older = places[peer.key.index] { aside[older.key] = older }
        places[peer.key.index] = peer
        count += 1
    }

    mutating func remove(_ peer: PeerConnection) {
        if places[peer.key.index] === peer {
            places[peer.key.index] = nil
        } else if aside.removeValue(forKey: peer.key) == nil {
            return
        }
        count -= 1
    }

    func forEach(_ body: (PeerConnection) -> Void) {
        for peer in places { if let peer { body(peer) } }
        for peer in aside.values { body(peer) }
    }
}
