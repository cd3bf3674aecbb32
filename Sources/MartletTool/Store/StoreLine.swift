import Foundation
import MartletProtocol
import MartletSQLite
import MartletWire

/// A line of an exported store: a JSON object with one member, which names the part (Specs/storage.md §4).
struct StoreLine: Codable {
    struct Room: Codable {
        var name: String
        var log: String
        var firstOffset: UInt64
        var usedAt: UInt64
    }

    struct Message: Codable {
        var offset: UInt64
        var account: String
        var device: String
        var counter: UInt64
        var acceptedAt: UInt64
        /// The body, in base64.
        var body: Data
    }

    struct Device: Codable {
        var account: String
        var device: String
        var watermark: UInt64
        var seen: String
        /// The bounds of each gap.
        var gaps: [[UInt64]]
        /// The digests in hexadecimal; nil if all are unknown.
        var digests: [String]?
        var lastOffset: UInt64
        var usedAt: UInt64
    }

    struct Branch: Codable {
        var log: String
        var upTo: UInt64
    }

    struct Progress: Codable {
        var account: String
        var delivered: UInt64
        var read: UInt64
    }

    struct Roles: Codable {
        var room: String
        /// The stored form of the roles, in base64.
        var roles: Data
        var creator: String?
    }

    struct Membership: Codable {
        var room: String
        var account: String
        var joined: Bool
        var inviter: String?
        var changedAt: UInt64
    }

    /// The mark of a store that has lost roles.
    struct UnknownRoles: Codable {}

    /// A line that is not valid.
    struct Fault: Error {}

    var room: Room?
    var message: Message?
    var branch: Branch?
    var device: Device?
    var progress: Progress?
    var roles: Roles?
    var membership: Membership?
    var unknownRoles: UnknownRoles?

    /// The lines of a part.
    static func lines(of record: StoreRecord) throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try parts(of: record).map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    }

    private static func parts(of record: StoreRecord) -> [StoreLine] {
        switch record {
        case .room(let name, let log, let firstOffset, let usedAt):
            [
                StoreLine(
                    room: Room(
                        name: name.text, log: String(log.rawValue, radix: 16), firstOffset: firstOffset, usedAt: usedAt)
                )
            ]
        case .messages(let entries):
            entries.map {
                StoreLine(
                    message: Message(
                        offset: $0.offset, account: $0.sender.text, device: String($0.device.rawValue, radix: 16),
                        counter: $0.counter,
                        acceptedAt: $0.acceptedAt, body: Data($0.body.bytes)))
            }
        case .device(let key, let record, let lastOffset):
            [
                StoreLine(
                    device: Device(
                        account: key.account.text, device: String(key.device.rawValue, radix: 16),
                        watermark: record.watermark,
                        seen: String(record.seen, radix: 16), gaps: record.gaps.map { [$0.lowerBound, $0.upperBound] },
                        digests: record.digests.isEmpty ? nil : record.digests.map { String($0, radix: 16) },
                        lastOffset: lastOffset, usedAt: record.usedAt))
            ]
        case .branch(let log, let offset):
            [StoreLine(branch: Branch(log: String(log.rawValue, radix: 16), upTo: offset))]
        case .progress(let progress):
            progress.map {
                StoreLine(
                    progress: Progress(account: $0.key.text, delivered: $0.value.delivered, read: $0.value.read))
            }
        case .roles(let room, let roles, let creator):
            [StoreLine(roles: Roles(room: room.text, roles: Data(roles), creator: creator?.text))]
        case .membership(let room, let account, let record):
            [
                StoreLine(
                    membership: Membership(
                        room: room.text, account: account.text, joined: record.isJoined, inviter: record.inviter?.text,
                        changedAt: record.changedAt))
            ]
        case .unknownRoles: [StoreLine(unknownRoles: UnknownRoles())]
        }
    }

    /// The part of a line.
    ///
    /// - Throws: `Fault`, or an error of `JSONDecoder`.
    static func record(of line: String) throws -> StoreRecord {
        let parsed = try JSONDecoder().decode(StoreLine.self, from: Data(line.utf8))
        guard parsed.partCount == 1 else { throw Fault() }
        if let room = parsed.room {
            guard let name = RoomName(room.name), let log = UInt64(room.log, radix: 16), room.firstOffset > 0 else {
                throw Fault()
            }
            return .room(name, log: LogID(rawValue: log), firstOffset: room.firstOffset, usedAt: room.usedAt)
        }
        if let message = parsed.message {
            let key = try key(message.account, message.device)
            return .messages([
                LogEntry(
                    offset: message.offset, sender: key.account, device: key.device, counter: message.counter,
                    acceptedAt: message.acceptedAt, body: EncodedBody([UInt8](message.body)))
            ])
        }
        if let branch = parsed.branch {
            guard let log = UInt64(branch.log, radix: 16) else { throw Fault() }
            return .branch(LogID(rawValue: log), upTo: branch.upTo)
        }
        if let device = parsed.device {
            guard let seen = UInt64(device.seen, radix: 16) else { throw Fault() }
            let gaps = try device.gaps.map { gap throws -> ClosedRange<UInt64> in
                guard gap.count == 2, gap[0] <= gap[1] else { throw Fault() }
                return gap[0]...gap[1]
            }
            let digests = try (device.digests ?? []).map { text throws(Fault) -> UInt16 in
                guard let digest = UInt16(text, radix: 16) else { throw Fault() }
                return digest
            }
            guard digests.isEmpty || digests.count == DeviceRecord.digestCount else { throw Fault() }
            let record = DeviceRecord(
                watermark: device.watermark, seen: seen, gaps: gaps, digests: digests, usedAt: device.usedAt)
            return .device(try key(device.account, device.device), record, lastOffset: device.lastOffset)
        }
        if let progress = parsed.progress {
            guard let account = AccountName(progress.account) else { throw Fault() }
            return .progress([account: AccountProgress(delivered: progress.delivered, read: progress.read)])
        }
        if let membership = parsed.membership {
            guard let room = RoomName(membership.room), let account = AccountName(membership.account) else {
                throw Fault()
            }
            let record = MembershipRecord(
                isJoined: membership.joined, inviter: membership.inviter.flatMap { AccountName($0) },
                changedAt: membership.changedAt)
            return .membership(room, account, record)
        }
        if parsed.unknownRoles != nil { return .unknownRoles }
        guard let roles = parsed.roles, let room = RoomName(roles.room) else { throw Fault() }
        let creator = try roles.creator.map { name throws(Fault) in
            guard let account = AccountName(name) else { throw Fault() }
            return account
        }
        // The mark of lost roles is the only stored form that is not valid.
        guard roles.roles.elementsEqual([0]) || (try? RoomRoles(decoding: [UInt8](roles.roles))) != nil else {
            throw Fault()
        }
        return .roles(room, [UInt8](roles.roles), creator: creator)
    }

    /// The number of parts, which is 1 in a valid line.
    private var partCount: Int {
        [
            room != nil, message != nil, branch != nil, device != nil, progress != nil, roles != nil, membership != nil,
            unknownRoles != nil,
        ].count { $0 }
    }

    private static func key(_ account: String, _ device: String) throws(Fault) -> DeviceKey {
        guard let account = AccountName(account), let device = UInt64(device, radix: 16) else { throw Fault() }
        return DeviceKey(account: account, device: DeviceID(rawValue: device))
    }
}
