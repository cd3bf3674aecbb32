import MartletRelay
import MartletWire

/// The changes of this store that the relays of other stores are notified of, as texts of at most 600 bytes.
///
/// A report is only a hint: a relay that misses one finds the change within a second. So the newest one of a room
/// replaces the earlier ones, and those beyond the bound are dropped.
struct PositionReports {
    /// The maximum number of rooms with a report that waits.
    static let maxCount = 16_384
    /// The maximum number of reports in one statement.
    static let maxBatchCount = 1024

    private var waiting: [RoomName: RoomPosition] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ position: RoomPosition) {
        guard waiting.count < Self.maxCount || waiting[position.room] != nil else { return }
        waiting[position.room] = position
    }

    /// Takes the reports of the next statement.
    mutating func take() -> [RoomPosition] {
        let taken = waiting.prefix(Self.maxBatchCount).map(\.value)
        for position in taken { waiting[position.room] = nil }
        return taken
    }

    // MARK: Text

    /// The text of a report: log, last offset and version of the roles in decimal digits, and the name of the room.
    static func text(of position: RoomPosition) -> String {
        "\(position.log?.rawValue ?? 0) \(position.lastOffset) \(position.rolesVersion) \(position.room.text)"
    }

    /// The position in a text; nil if it is no report.
    static func position(in text: String) -> RoomPosition? {
        let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let log = UInt64(parts[0]), let last = UInt64(parts[1]), let roles = UInt64(parts[2]),
            last < UInt64(Int64.max), let room = RoomName(String(parts[3]))
        else { return nil }
        return RoomPosition(room: room, log: LogID(rawValue: log), lastOffset: last, rolesVersion: roles)
    }
}
