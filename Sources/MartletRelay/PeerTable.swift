import MartletLink

/// The connections of a driver by the slots of their keys, which the engine reuses.
///
/// The engine may reuse a slot while its previous connection is still closing here. The previous connection then moves
/// to `displaced`.
struct PeerTable {
    private var slots: ContiguousArray<PeerConnection?> = []
    private var displaced: [ConnectionKey: PeerConnection] = [:]
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(key: ConnectionKey) -> PeerConnection? {
        if key.index < slots.count, let peer = slots[key.index], peer.key == key { return peer }
        return displaced.isEmpty ? nil : displaced[key]
    }

    mutating func insert(_ peer: PeerConnection) {
        while slots.count <= peer.key.index { slots.append(nil) }
        if let older = slots[peer.key.index] { displaced[older.key] = older }
        slots[peer.key.index] = peer
        count += 1
    }

    mutating func remove(_ peer: PeerConnection) {
        if slots[peer.key.index] === peer {
            slots[peer.key.index] = nil
        } else if displaced.removeValue(forKey: peer.key) == nil {
            return
        }
        count -= 1
    }

    func forEach(_ body: (PeerConnection) -> Void) {
        for peer in slots { if let peer { body(peer) } }
        for peer in displaced.values { body(peer) }
    }
}
