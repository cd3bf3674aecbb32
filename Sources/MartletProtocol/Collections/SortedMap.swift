/// Few values by key, in the order of the keys: two arrays side by side, searched by halving.
///
/// For what a link has a handful of, or a few hundred at the most, and looks up for every frame: no key is hashed, what
/// is found is changed in place, and going through it always gives the same order. Adding and taking away move what
/// lies behind.
struct SortedMap<Key: Comparable, Value> {
    private(set) var keys: ContiguousArray<Key> = []
    /// The values in the order of their keys; `index(of:)` says where.
    var values: ContiguousArray<Value> = []

    var count: Int { keys.count }
    var isEmpty: Bool { keys.isEmpty }

    /// Where the key's value is, if there is one.
    func index(of key: Key) -> Int? {
        let index = firstIndex(notBelow: key)
        return index < keys.count && keys[index] == key ? index : nil
    }

    subscript(key: Key) -> Value? {
        get { index(of: key).map { values[$0] } }
        set {
            guard let newValue else {
                removeValue(forKey: key)
                return
            }
            let index = firstIndex(notBelow: key)
            if index < keys.count, keys[index] == key {
                values[index] = newValue
            } else {
                keys.insert(key, at: index)
                values.insert(newValue, at: index)
            }
        }
    }

    mutating func reserveCapacity(_ count: Int) {
        keys.reserveCapacity(count)
        values.reserveCapacity(count)
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard let index = index(of: key) else { return nil }
        keys.remove(at: index)
        return values.remove(at: index)
    }

    private func firstIndex(notBelow key: Key) -> Int {
        var low = 0
        var count = keys.count
        while count > 0 {
            let half = count / 2
            if keys[low + half] < key {
                low += half + 1
                count -= half + 1
            } else {
                count = half
            }
        }
        return low
    }
}

extension SortedMap: Sendable where Key: Sendable, Value: Sendable {}
