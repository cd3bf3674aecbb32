/// A map of a few values in the order of their keys: one sorted array with binary search.
///
/// It is for up to a few hundred values of a link that are accessed for every frame. Keys are not hashed, values are
/// changed in place, and the iteration order is deterministic. Insertion and removal move the following entries.
@usableFromInline
package struct SortedMap<Key: Comparable, Value> {
    @usableFromInline
    struct Entry {
        @usableFromInline let key: Key
        @usableFromInline var value: Value

        @inlinable
        init(key: Key, value: Value) {
            self.key = key
            self.value = value
        }
    }

    @usableFromInline var entries: ContiguousArray<Entry> = []

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { entries.count }
    @inlinable
    package var isEmpty: Bool { entries.isEmpty }
    /// The indices of the values in the order of their keys.
    @inlinable
    package var indices: Range<Int> { entries.indices }
    /// The keys in ascending order.
    @inlinable
    package var keys: [Key] { entries.map(\.key) }
    /// The values in the order of their keys.
    @inlinable
    package var values: [Value] { entries.map(\.value) }
    /// The number of entries for which memory is allocated.
    @inlinable
    package var capacity: Int { entries.capacity }
    /// The number of bytes of an entry.
    @inlinable
    package static var entryByteCount: Int { MemoryLayout<Entry>.stride }

    /// Returns the index of a key; nil if the map does not contain it.
    @inlinable
    package func index(of key: Key) -> Int? {
        let index = firstIndex(notBelow: key)
        return index < entries.count && entries[index].key == key ? index : nil
    }

    /// Returns the key at an index.
    @inlinable
    package func key(at place: Int) -> Key { entries[place].key }

    /// Accesses the value at an index in place.
    @inlinable
    package subscript(at place: Int) -> Value {
        @inline(__always) _read { yield entries[place].value }
        @inline(__always) _modify { yield &entries[place].value }
    }

    @inlinable
    package subscript(key: Key) -> Value? {
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
    @inlinable
    package mutating func removeValue(forKey key: Key) -> Value? {
        guard let index = index(of: key) else { return nil }
        return entries.remove(at: index).value
    }

    /// Returns the index of the first key above `key`; `count` if there is none.
    @inlinable
    package func firstIndex(above key: Key) -> Int {
        let index = firstIndex(notBelow: key)
        return index < entries.count && entries[index].key == key ? index + 1 : index
    }

    @inlinable
    func firstIndex(notBelow key: Key) -> Int {
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
