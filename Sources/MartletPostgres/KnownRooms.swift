import MartletWire

/// The logs that the relay has loaded. Those that were not used for the longest time are forgotten, and their next
/// append is answered as one to a log that is lost: the relay loads the room again.
struct KnownRooms {
    /// The number of rooms at which the older half is forgotten.
    static let maxYoungCount = 524_288

    private let maxYoungCount: Int
    private var young: [RoomName: KnownRoom] = [:]
    private var old: [RoomName: KnownRoom] = [:]

    init(maxYoungCount: Int = maxYoungCount) {
        self.maxYoungCount = maxYoungCount
    }

    subscript(room: RoomName) -> KnownRoom? {
        mutating get {
            if let known = young[room] { return known }
            guard let known = old.removeValue(forKey: room) else { return nil }
            self[room] = known
            return known
        }
        set {
            if newValue != nil, young.count >= maxYoungCount {
                old = young
                young = [:]
            }
            young[room] = newValue
            if newValue == nil { old[room] = nil }
        }
    }
}
