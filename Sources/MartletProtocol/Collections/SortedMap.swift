/// Few values by key, in the order of the keys: one array, searched by halving.
///
/// For what a link has a handful of, or a few hundred at the most, and looks up for every frame: no key is hashed, what
/// is found is changed in place, and going through it always gives the same order. Adding and taking away move what
/// lies behind.
struct SortedMap<Key: Comparable, Value> {
    fileprivate struct Entry {
        let key: Key
        var value: Value
    }

    private var entries: ContiguousArray<Entry> = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    /// Places of the values, in the order of their keys.
    var indices: Range<Int> { entries.indices }
    /// The keys in their order.
    var keys: [Key] { entries.map(\.key) }
    /// The values in the order of their keys.
    var values: [Value] { entries.map(\.value) }
    /// Entries that there is memory for.
    var capacity: Int { entries.capacity }
    /// What an entry takes, in bytes.
    static var entryByteCount: Int { MemoryLayout<Entry>.stride }

    /// Where the key's value is, if there is one.
    func index(of key: Key) -> Int? {
        let index = firstIndex(notBelow: key)
        return index < entries.count && entries[index].key == key ? index : nil
    }

    /// The key at a place.
    func key(at place: Int) -> Key { entries[place].key }

    /// The value at a place that `index(of:)` gave; it can be changed in place.
    subscript(at place: Int) -> Value {
        @inline(__always) _read { yield entries[place].value }
        @inline(__always) _modify { yield &entries[place].value }
    }

    subscript(key: Key) -> Value? {
        get { index(of: key).map { entries[$0].value } }
        set {
            guard let newValue else {
                removeValue(forKey: key)
                return
            }
            let index = firstIndex(notBelow: key)
            if index < entries.count, entries[index].key == key {
                entries[index].value = newValue
            } else {
                entries.insert(Entry(key: key, value: newValue), at: index)
            }
        }
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard let index = index(of: key) else { return nil }
        return entries.remove(at: index).value
    }

    private func firstIndex(notBelow key: Key) -> Int {
        var low = 0
        var count = entries.count
        while count > 0 {
            let half = count / 2
            if entries[low + half].key < key {
                low += half + 1
                count -= half + 1
            } else {
                count = half
            }
        }
        return low
    }
}

extension SortedMap.Entry: Sendable where Key: Sendable, Value: Sendable {}
extension SortedMap: Sendable where Key: Sendable, Value: Sendable {}
