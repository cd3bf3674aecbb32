import MartletProtocol
import MartletWire

/// What members of rooms have told each other beside messages: how far they are, who types, who comes and goes.
struct Attendance {
    private struct Place: Hashable {
        var account: AccountName
        var room: RoomName
    }

    /// What one device was told of one account in one room.
    struct Told {
        var delivered: UInt64 = 0
        var read: UInt64 = 0
        var typingCount = 0
        var presence: Transient.Presence?
    }

    private struct View: Hashable {
        var device: UInt64
        var place: Place
    }

    /// How far an account's devices have ever taken and read a room.
    private var taken: [Place: UInt64] = [:]
    private var read: [Place: UInt64] = [:]
    private var typists: Set<Place> = []
    private var told: [View: Told] = [:]

    mutating func taken(_ account: AccountName, _ room: RoomName, upTo offset: UInt64) {
        let place = Place(account: account, room: room)
        taken[place] = max(taken[place] ?? 0, offset)
    }

    mutating func read(_ account: AccountName, _ room: RoomName, upTo offset: UInt64) {
        taken(account, room, upTo: offset)
        let place = Place(account: account, room: room)
        read[place] = max(read[place] ?? 0, offset)
    }

    mutating func typed(_ account: AccountName, _ room: RoomName) {
        typists.insert(Place(account: account, room: room))
    }

    func told(_ device: UInt64, of account: AccountName, in room: RoomName) -> Told {
        told[View(device: device, place: Place(account: account, room: room))] ?? Told()
    }

    /// A device's process died, and what it was told with it.
    mutating func forget(_ device: UInt64) {
        told = told.filter { $0.key.device != device }
    }

    /// A room's log is lost, and what was said of it with it.
    mutating func lost(_ room: RoomName) {
        told = told.filter { $0.key.place.room != room }
    }

    /// A device hears how far another account is; what is wrong with that, if anything.
    mutating func told(_ device: UInt64, _ progress: Receipt.Progress, in room: RoomName) -> String? {
        guard let sender = progress.sender else { return "a receipt without a sender" }
        let place = Place(account: sender, room: room)
        let most = (progress.mark == .read ? read[place] : taken[place]) ?? 0
        switch progress.mark {
        case .read: told[View(device: device, place: place), default: Told()].read = progress.upTo
        case .delivered: break
        }
        let delivered = told[View(device: device, place: place)]?.delivered ?? 0
        told[View(device: device, place: place), default: Told()].delivered = max(delivered, progress.upTo)
        guard progress.upTo > most else { return nil }
        return "device \(device) is told that \(sender) is at \(progress.upTo) of \(room), which is at \(most)"
    }

    /// A device hears that another account types; what is wrong with that, if anything.
    mutating func told(_ device: UInt64, typing sender: AccountName, in room: RoomName) -> String? {
        let place = Place(account: sender, room: room)
        told[View(device: device, place: place), default: Told()].typingCount += 1
        return typists.contains(place) ? nil : "device \(device) is told that \(sender) types in \(room)"
    }

    mutating func told(_ device: UInt64, _ account: AccountName, is presence: Transient.Presence, in room: RoomName) {
        told[View(device: device, place: Place(account: account, room: room)), default: Told()].presence = presence
    }
}
