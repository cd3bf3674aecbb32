import MartletWire

/// The marks of the devices that have written in a room, and which of them may be let go (R-47,
/// Specs/hostile.md row 36).
///
/// A mark's number is never given to another device while the room is in memory: the log's entries name it.
///
///     kept ──its device has not written for the lifetime, and its account needs a place──► let go
struct DeviceMarks: Sendable {
    /// Devices of a room whose marks are kept at the most, however many accounts they are of.
    static let maxCount = 262_144
    /// Devices of one account in a room whose marks are kept at the most.
    static let maxCountPerAccount = 1024
    /// How long a mark is kept at least after its device wrote last, by the relay's wall clock, in milliseconds: seven
    /// days, for as long as which a client may post a message again.
    static let lifetime: UInt64 = 7 * 24 * 3600 * 1000

    private struct Share: Sendable {
        var count = 0
        /// Before this no mark of the account's can be let go, in milliseconds since 1970.
        var nothingUntil: UInt64 = 0
    }

    private var markOfDevice: [DeviceKey: Int] = [:]
    private var shares: [AccountName: Share] = [:]
    /// By number; those that were let go are blank.
    private var marks: [DeviceMark] = []
    /// When each one's device wrote last, or when it became known, in milliseconds since 1970.
    private var usedAt: [UInt64] = []

    /// Numbers given out.
    var count: Int { marks.count }

    subscript(mark: Int) -> DeviceMark {
        _read { yield marks[mark] }
        _modify { yield &marks[mark] }
    }

    /// The number of a device's mark; nil when it has none.
    subscript(device: DeviceKey) -> Int? { markOfDevice[device] }

    /// What the store knows of a device, however many there are: to forget one is to take its messages twice.
    mutating func load(_ device: DeviceKey, watermark: UInt64, at now: UInt64) {
        insert(device, DeviceMark(watermark: watermark), at: now)
    }

    /// The device writes: its mark is kept for a lifetime from now.
    @inline(__always)
    mutating func use(_ mark: Int, at now: UInt64) {
        usedAt[mark] = max(usedAt[mark], now)
    }

    /// What became of a wish for a mark.
    enum OnWish: Equatable {
        case mark(Int)
        /// It has one now, and another device of its account has one no longer.
        case markInPlace(Int, of: DeviceKey)
        /// Its account has as many as it may, or the room has.
        case none
    }

    /// Gives a device a mark that has none.
    mutating func add(_ device: DeviceKey, at now: UInt64) -> OnWish {
        guard marks.count < DeviceMarks.maxCount else { return .none }
        guard shares[device.account]?.count ?? 0 >= DeviceMarks.maxCountPerAccount else {
            return .mark(insert(device, DeviceMark(), at: now))
        }
        guard let unused = letGo(of: device.account, at: now) else { return .none }
        return .markInPlace(insert(device, DeviceMark(), at: now), of: unused)
    }

    @discardableResult
    private mutating func insert(_ device: DeviceKey, _ mark: DeviceMark, at now: UInt64) -> Int {
        markOfDevice[device] = marks.count
        shares[device.account, default: Share()].count += 1
        marks.append(mark)
        usedAt.append(now)
        return marks.count - 1
    }

    /// Lets the mark of an account go that has not been used for longest, if that is for a lifetime.
    private mutating func letGo(of account: AccountName, at now: UInt64) -> DeviceKey? {
        guard let share = shares[account], share.nothingUntil <= now else { return nil }
        let own = markOfDevice.lazy.filter { $0.key.account == account }
        let oldest = own.min { (usedAt[$0.value], $0.value) < (usedAt[$1.value], $1.value) }
        guard let (device, mark) = oldest else { return nil }
        let end = usedAt[mark] + DeviceMarks.lifetime
        guard end <= now else {
            shares[account]?.nothingUntil = end
            return nil
        }
        markOfDevice[device] = nil
        shares[account]?.count -= 1
        marks[mark] = DeviceMark()
        return device
    }
}
