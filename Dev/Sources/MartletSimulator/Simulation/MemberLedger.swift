import MartletLink
import MartletWire

/// The receipts, typing and presence that devices received, compared with the actions of the members.
struct MemberLedger {
    private struct AccountInRoom: Hashable {
        var account: AccountName
        var room: RoomName
    }

    /// The notifications that one device received about one account in one room.
    struct Received {
        var delivered: UInt64 = 0
        var read: UInt64 = 0
        var typingCount = 0
        var presence: Transient.Presence?
    }

    private struct Observation: Hashable {
        var device: UInt64
        var subject: AccountInRoom
    }

    /// The highest offsets that an account's devices have taken and read.
    private var taken: [AccountInRoom: UInt64] = [:]
    private var read: [AccountInRoom: UInt64] = [:]
    private var typists: Set<AccountInRoom> = []
    private var received: [Observation: Received] = [:]

    mutating func taken(_ account: AccountName, _ room: RoomName, upTo offset: UInt64) {
        taken[AccountInRoom(account: account, room: room), default: 0].raise(to: offset)
    }

    mutating func read(_ account: AccountName, _ room: RoomName, upTo offset: UInt64) {
        taken(account, room, upTo: offset)
        read[AccountInRoom(account: account, room: room), default: 0].raise(to: offset)
    }

    mutating func typed(_ account: AccountName, _ room: RoomName) {
        typists.insert(AccountInRoom(account: account, room: room))
    }

    func received(by device: UInt64, about account: AccountName, in room: RoomName) -> Received {
        received[observation(device, account, room)] ?? Received()
    }

    /// Removes the notifications of a crashed device.
    mutating func removeDevice(_ device: UInt64) {
        received = received.filter { $0.key.device != device }
    }

    /// Removes the notifications about a room whose log was lost.
    mutating func removeRoom(_ room: RoomName) {
        received = received.filter { $0.key.subject.room != room }
    }

    /// Records a receipt. Returns its fault, if any.
    mutating func receive(_ progress: Receipt.Progress, by device: UInt64, in room: RoomName) -> String? {
        guard let sender = progress.sender else { return "a receipt has no sender" }
        let key = observation(device, sender, room)
        if progress.mark == .read { received[key, default: Received()].read = progress.upTo }
        received[key, default: Received()].delivered.raise(to: progress.upTo)
        let highest = (progress.mark == .read ? read[key.subject] : taken[key.subject]) ?? 0
        guard progress.upTo > highest else { return nil }
        return "device \(device) received a receipt of \(sender) for \(progress.upTo) of \(room), beyond \(highest)"
    }

    /// Records a typing notification. Returns its fault, if any.
    mutating func receiveTyping(of account: AccountName, by device: UInt64, in room: RoomName) -> String? {
        let key = observation(device, account, room)
        received[key, default: Received()].typingCount += 1
        return typists.contains(key.subject) ? nil : "device \(device) received that \(account) types in \(room)"
    }

    mutating func receive(
        _ presence: Transient.Presence, of account: AccountName, by device: UInt64, in room: RoomName
    ) {
        received[observation(device, account, room), default: Received()].presence = presence
    }

    /// A device has opened a room, whose members it considers online until it receives their presence.
    mutating func opened(_ room: RoomName, by device: UInt64, members: [AccountName]) {
        for account in members { received[observation(device, account, room)]?.presence = nil }
    }

    // MARK: - Completeness

    /// A device of a member.
    struct Peer {
        var id: UInt64
        var account: AccountName
        var features: Features
    }

    /// The receipts for the last message of each publisher that it has not received.
    func missingReceipts(in room: RoomName, _ log: [RoomLogs.Entry], _ peers: [Peer]) -> [String] {
        pairs(of: peers, with: .receipts).compactMap { peer, other in
            guard other.account != peer.account,
                let last = log.last(where: { $0.id.device.rawValue == peer.id })?.offset
            else { return nil }
            let received = received(by: peer.id, about: other.account, in: room)
            guard received.delivered < last || received.read < last else { return nil }
            let receipts = "delivered \(received.delivered) and read \(received.read) of \(other.account)"
            return "device \(peer.id) published \(last) in \(room) and received \(receipts)"
        }
    }

    /// The notifications of typing that devices have not received.
    func missingTyping(in room: RoomName, _ peers: [Peer]) -> [String] {
        pairs(of: peers, with: .presence).compactMap { peer, other in
            guard received(by: peer.id, about: other.account, in: room).typingCount == 0 else { return nil }
            return "device \(peer.id) did not receive that \(other.account) types in \(room)"
        }
    }

    /// The devices of other accounts that have received another presence of an account last.
    func wrongPresence(
        of account: AccountName, in rooms: [RoomName], _ peers: [Peer], _ isRight: (Transient.Presence?) -> Bool
    ) -> [String] {
        peers.filter { $0.account != account && $0.features.contains(.presence) }.flatMap { peer in
            rooms.compactMap { room in
                let presence = received(by: peer.id, about: account, in: room).presence
                guard !isRight(presence) else { return nil }
                return "device \(peer.id) received presence of \(account) in \(room): \(String(describing: presence))"
            }
        }
    }

    private func pairs(of peers: [Peer], with feature: Features) -> [(Peer, Peer)] {
        let able = peers.filter { $0.features.contains(feature) }
        return able.flatMap { peer in able.filter { $0.id != peer.id }.map { (peer, $0) } }
    }

    private func observation(_ device: UInt64, _ account: AccountName, _ room: RoomName) -> Observation {
        Observation(device: device, subject: AccountInRoom(account: account, room: room))
    }
}

extension UInt64 {
    fileprivate mutating func raise(to value: UInt64) { self = Swift.max(self, value) }
}
