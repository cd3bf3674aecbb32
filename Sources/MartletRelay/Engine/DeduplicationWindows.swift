import MartletLink
import MartletWire

/// The deduplication windows of the devices that have published in a room, and their removal (R-47,
/// Specs/hostile.md row 36).
///
/// The entries of the log in memory contain the index of their window. An index is therefore given to another device
/// only after the room has removed these entries from memory.
///
/// | state of an index | owns | ends |
/// |---|---|---|
/// | in use | a window, an entry in the account's share | not used for the lifetime, and the account or the room needs another index |
/// | blank | nothing | `removeUnused`, when the room has the maximum number of indexes |
/// | free | an entry in the list of free indexes | the next device |
struct DeduplicationWindows: Sendable {
    /// The maximum number of devices of a room with a window, of all accounts.
    static let maxCount = 262_144
    /// The maximum of this room, as in `DeduplicationWindows.maxCount`.
    var maxCount = DeduplicationWindows.maxCount
    /// The maximum number of devices of one account in a room with a window.
    static let maxCountPerAccount = 1024
    /// The minimum duration for which a window is kept after its device last published, in milliseconds of the relay's
    /// wall clock: seven days, in which a client may publish a message again.
    static let lifetime = DeviceRecord.lifetime  // bound

    private struct Share: Sendable {
        var count = 0
        /// The time before which no window of the account can be removed, in milliseconds since 1970.
        var nothingUntil: UInt64 = 0
    }

    private var indexOfDevice: [DeviceKey: Int] = [:]
    private var shares: [AccountName: Share] = [:]
    private var windows: [DeduplicationWindow] = []
    /// The time at which each device last published, or became known, in milliseconds since 1970.
    private var usedAt: [UInt64] = []
    private var free: [Int] = []
    /// The time before which no window of the room can be removed, in milliseconds since 1970.
    private var nothingUntil: UInt64 = 0

    /// The number of assigned indexes.
    var count: Int { windows.count }

    subscript(index: Int) -> DeduplicationWindow {
        get { windows[index] }
        _modify { yield &windows[index] }
    }

    /// The index of a device's window; nil when it has none.
    subscript(device: DeviceKey) -> Int? { indexOfDevice[device] }

    /// Adds a device of the store, also beyond the maximum: without a window, its messages would be stored twice.
    mutating func load(_ device: DeviceKey, _ record: DeviceRecord) {
        insert(device, DeduplicationWindow(record), at: record.usedAt)
    }

    /// The window of a device that has published at another relay, beyond the maximum if necessary, as by `load`.
    mutating func replicate(_ device: DeviceKey, at now: UInt64) -> Int {
        guard let window = indexOfDevice[device] else { return insert(device, DeduplicationWindow(), at: now) }
        use(window, at: now)
        return window
    }

    /// The device publishes: its window is kept for a lifetime from now.
    @inline(__always)
    mutating func use(_ index: Int, at now: UInt64) {
        usedAt[index] = max(usedAt[index], now)
    }

    /// The answer to a device without a window.
    enum OnAdd: Equatable {
        case added(Int)
        /// Another device of the account has lost its window.
        case replaced(Int, of: DeviceKey)
        /// The room has the maximum number of windows; `removeUnused` may make room.
        case full
        /// The account has the maximum number of windows.
        case none
    }

    /// Adds a window of a device that has none.
    mutating func add(_ device: DeviceKey, at now: UInt64) -> OnAdd {
        guard windows.count < maxCount || !free.isEmpty else { return .full }
        guard shares[device.account]?.count ?? 0 >= DeduplicationWindows.maxCountPerAccount else {
            return .added(insert(device, DeduplicationWindow(), at: now))
        }
        guard let unused = removeUnused(of: device.account, at: now) else { return .none }
        return .replaced(insert(device, DeduplicationWindow(), at: now), of: unused)
    }

    @discardableResult
    private mutating func insert(_ device: DeviceKey, _ window: DeduplicationWindow, at now: UInt64) -> Int {
        shares[device.account, default: Share()].count += 1
        if let index = free.popLast() {
            indexOfDevice[device] = index
            (windows[index], usedAt[index]) = (window, now)
            return index
        }
        indexOfDevice[device] = windows.count
        windows.append(window)
        usedAt.append(now)
        return windows.count - 1
    }

    /// Removes all windows whose last use is a lifetime ago, and frees all blank indexes. Returns the devices, or nil
    /// when there is nothing to remove. The caller has removed all entries with indexes from memory before it adds
    /// another device.
    mutating func removeUnused(at now: UInt64) -> [DeviceKey]? {
        guard nothingUntil <= now else { return nil }
        let lifetime = DeduplicationWindows.lifetime
        let unused = indexOfDevice.filter { usedAt[$0.value] + lifetime <= now && windows[$0.value].isSettled }
        for (device, index) in unused {
            indexOfDevice[device] = nil
            shares[device.account]?.count -= 1
            windows[index] = DeduplicationWindow()
        }
        let used = Set(indexOfDevice.values)
        free = windows.indices.filter { !used.contains($0) }
        // Without a change another search is useless until the oldest lifetime is over.
        if free.isEmpty { nothingUntil = (usedAt.min() ?? now) + lifetime }
        return free.isEmpty ? nil : Array(unused.keys)
    }

    /// Removes the account's least recently used window, if its last use is a lifetime ago.
    private mutating func removeUnused(of account: AccountName, at now: UInt64) -> DeviceKey? {
        guard let share = shares[account], share.nothingUntil <= now else { return nil }
        let own = indexOfDevice.lazy.filter { $0.key.account == account }
        let oldest = own.min { (usedAt[$0.value], $0.value) < (usedAt[$1.value], $1.value) }
        guard let (device, index) = oldest else { return nil }
        let end = usedAt[index] + DeduplicationWindows.lifetime
        guard end <= now else {
            shares[account]?.nothingUntil = end
            return nil
        }
        indexOfDevice[device] = nil
        shares[account]?.count -= 1
        windows[index] = DeduplicationWindow()
        return device
    }
}
