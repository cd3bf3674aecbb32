import MartletRelay
import MartletWire

/// The changes of this store that the relays of other stores are notified of, as texts of at most 600 bytes.
///
/// A report is only a hint: a relay that misses one finds the change within a second. So the newest one of a room
/// replaces the earlier ones, and those beyond the bound are dropped.
struct RevisionReports {
    /// The maximum number of rooms with a report that waits.
    static let maxCount = 16_384
    /// The maximum number of reports in one statement.
    static let maxBatchCount = 1024

    private var waiting: [RoomName: RoomRevision] = [:]

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ revision: RoomRevision) {
        guard waiting.count < Self.maxCount || waiting[revision.room] != nil else { return }
        waiting[revision.room] = revision
    }

    /// Takes the reports of the next statement.
    mutating func take() -> [RoomRevision] {
        let taken = waiting.prefix(Self.maxBatchCount).map(\.value)
        for revision in taken { waiting[revision.room] = nil }
        return taken
    }

    // MARK: Text

    /// The text of a report: log, last offset and version of the roles in decimal digits, and the name of the room.
    static func text(of revision: RoomRevision) -> String {
        "\(revision.log?.rawValue ?? 0) \(revision.lastOffset) \(revision.rolesVersion) \(revision.room.text)"
    }

    /// The revision in a text; nil if it is no report.
    static func revision(in text: String) -> RoomRevision? {
        let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let log = UInt64(parts[0]), let last = UInt64(parts[1]), let roles = UInt64(parts[2]),
            last < UInt64(Int64.max), let room = RoomName(String(parts[3]))
        else { return nil }
        return RoomRevision(room: room, log: LogID(rawValue: log), lastOffset: last, rolesVersion: roles)
    }
}
