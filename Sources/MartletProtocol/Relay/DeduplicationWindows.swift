import MartletWire

/// The deduplication windows of the devices that have published in a room, and their removal (R-47,
/// Specs/hostile.md row 36).
///
/// The index of a window is never given to another device while the room is in memory: the log's entries contain it.
///
/// | state of an index | owns | ends |
/// |---|---|---|
/// | in use | a window, an entry in the account's share | not used for the lifetime, and the account needs another one |
/// | blank | nothing | the room is evicted |
struct DeduplicationWindows: Sendable {
    /// Devices of a room with a window at the most, of all accounts.
    static let maxCount = 262_144
    /// Devices of one account in a room with a window at the most.
    static let maxCountPerAccount = 1024
    /// The shortest time for which a window is kept after its device last published, by the relay's wall clock, in
    /// milliseconds: seven days, the time in which a client may publish a message again.
    static let lifetime: UInt64 = 7 * 24 * 3600 * 1000

    private struct Share: Sendable {
        var count = 0
        /// No window of the account can be removed before this time, in milliseconds since 1970.
        var nothingUntil: UInt64 = 0
    }

    private var indexOfDevice: [DeviceKey: Int] = [:]
    private var shares: [AccountName: Share] = [:]
    private var windows: [DeduplicationWindow] = []
    /// When each device last published, or became known, in milliseconds since 1970.
    private var usedAt: [UInt64] = []

    /// Assigned indexes.
    var count: Int { windows.count }

    subscript(index: Int) -> DeduplicationWindow {
        _read { yield windows[index] }
        _modify { yield &windows[index] }
    }

    /// The index of a device's window; nil when it has none.
    subscript(device: DeviceKey) -> Int? { indexOfDevice[device] }

    /// Adds a device of the store, beyond the maximum as well: without its window, its messages would be stored twice.
    mutating func load(_ device: DeviceKey, watermark: UInt64, at now: UInt64) {
        insert(device, DeduplicationWindow(watermark: watermark), at: now)
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
        /// The account or the room has as many windows as it may.
        case none
    }

    /// Adds a window of a device that has none.
    mutating func add(_ device: DeviceKey, at now: UInt64) -> OnAdd {
        guard windows.count < DeduplicationWindows.maxCount else { return .none }
        guard shares[device.account]?.count ?? 0 >= DeduplicationWindows.maxCountPerAccount else {
            return .added(insert(device, DeduplicationWindow(), at: now))
        }
        guard let unused = removeUnused(of: device.account, at: now) else { return .none }
        return .replaced(insert(device, DeduplicationWindow(), at: now), of: unused)
    }

    @discardableResult
    private mutating func insert(_ device: DeviceKey, _ window: DeduplicationWindow, at now: UInt64) -> Int {
        indexOfDevice[device] = windows.count
        shares[device.account, default: Share()].count += 1
        windows.append(window)
        usedAt.append(now)
        return windows.count - 1
    }

    /// Removes the account's window that was not used for the longest time, if that is a lifetime.
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
