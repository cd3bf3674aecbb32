import MartletLink
import MartletWire

/// The calls of the store that rooms have left in progress when they were removed from memory.
///
/// Such a room is loaded again when they are answered. Otherwise the room could take the answer to a call of its
/// earlier use, and would have two appends in progress.
struct RemovedRooms: Sendable {
    /// A call of which a room awaits the answer, apart from reads of members.
    enum Call: Sendable {
        case load, append, read, saveRoles, saveMemberships, saveRetention
    }

    private var calls: [RoomName: [Call]] = [:]

    var isEmpty: Bool { calls.isEmpty }

    /// Whether calls of a removed room are in progress.
    func contains(_ room: RoomName) -> Bool { !calls.isEmpty && calls[room] != nil }

    /// A room was removed. Calls without an answer may include those of an earlier use.
    mutating func add(_ room: RoomName, awaiting open: [Call]) {
        if !open.isEmpty { calls[room, default: []] += open }
    }

    /// A call was answered; false if no removed room has made it.
    mutating func take(_ answer: StoreAnswer) -> Bool {
        guard !calls.isEmpty, let (room, call) = answer.callOfRoom, let index = calls[room]?.firstIndex(of: call) else {
            return false
        }
        calls[room]?.remove(at: index)
        if calls[room]?.isEmpty == true { calls[room] = nil }
        return true
    }
}

extension StoreAnswer {
    /// The room that awaits the answer, and its call; nil for the answers to others.
    fileprivate var callOfRoom: (room: RoomName, call: RemovedRooms.Call)? {
        switch self {
        case .load(let room, _): (room, .load)
        case .append(let room, _, _, _): (room, .append)
        case .read(let room, let id, _): id.member.slot < 0 ? (room, .read) : nil
        case .saveRoles(let room, _): (room, .saveRoles)
        case .saveMemberships(let room, _): (room, .saveMemberships)
        case .saveRetention(let room, _, _): (room, .saveRetention)
        case .saveProgress, .readMemberships, .touch, .changes: nil
        }
    }
}
