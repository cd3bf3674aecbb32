/// A hash table from keys to the slots of a table whose elements contain their keys.
///
/// The table stores no keys: it has 8 bytes for each entry and is at most three quarters full. The caller compares the
/// keys.
@usableFromInline
package struct SlotIndex: Sendable {
    @usableFromInline
    struct Place: Sendable {
        @usableFromInline var hash: UInt32
        /// The slot; negative if the entry is empty.
        @usableFromInline var slot: Int32

        @inlinable
        init(hash: UInt32, slot: Int32) {
            self.hash = hash
            self.slot = slot
        }
    }

    @usableFromInline var places: ContiguousArray<Place> = []
    @usableFromInline package internal(set) var count = 0

    /// Creates an empty table.
    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { count == 0 }

    /// Returns the slot whose element has the key, among those with the same hash; nil if there is none.
    @inlinable
    package func find(_ key: some Hashable, where hasKey: (Int) -> Bool) -> Int? {
        guard !places.isEmpty else { return nil }
        let hash = Self.hash(key)
        var place = home(of: hash)
        while places[place].slot >= 0 {
            if places[place].hash == hash, hasKey(Int(places[place].slot)) { return Int(places[place].slot) }
            place = next(place)
        }
        return nil
    }

    /// Adds a slot with a key that is not in the table.
    @inlinable
    package mutating func insert(_ key: some Hashable, _ slot: Int) {
        if 4 * (count + 1) > 3 * places.count { grow() }
        count += 1
        put(Place(hash: Self.hash(key), slot: Int32(slot)))
    }

    /// Removes a slot that was added with this key.
    @inlinable
    package mutating func remove(_ key: some Hashable, _ slot: Int) {
        guard !places.isEmpty else { return }
        let hash = Self.hash(key)
        var hole = home(of: hash)
        while places[hole].slot != Int32(slot) || places[hole].hash != hash {
            guard places[hole].slot >= 0 else { return }
            hole = next(hole)
        }
        count -= 1
        // The following entries move into the gap unless they would precede their hash position.
        var place = next(hole)
        while places[place].slot >= 0 {
            let distance = (place &- home(of: places[place].hash)) & (places.count - 1)
            if distance >= (place &- hole) & (places.count - 1) {
                places[hole] = places[place]
                hole = place
            }
            place = next(place)
        }
        places[hole].slot = -1
    }

    @inlinable
    static func hash(_ key: some Hashable) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(key)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    @inlinable
    func home(of hash: UInt32) -> Int { Int(hash) & (places.count - 1) }

    @inlinable
    func next(_ place: Int) -> Int { (place + 1) & (places.count - 1) }

    @inlinable
    mutating func put(_ new: Place) {
        var place = home(of: new.hash)
        while places[place].slot >= 0 { place = next(place) }
        places[place] = new
    }

    @inlinable
    mutating func grow() {
        let old = places
        places = ContiguousArray(repeating: Place(hash: 0, slot: -1), count: max(8, 2 * old.count))
        for place in old where place.slot >= 0 { put(place) }
    }
}
