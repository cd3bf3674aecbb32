import MartletAuthentication
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletToolSupport
import MartletWire

/// A line of an exported store: a JSON object with one member, which names the part (Specs/storage.md §4).
enum StoreLine {
    /// A line that is not valid.
    struct Fault: Error {}

    /// The lines of a part. The members of objects are in the order of their names.
    static func lines(of record: StoreRecord) -> [String] {
        switch record {
        case .room(let name, let log, let firstOffset, let usedAt):
            [
                line(
                    "room",
                    [
                        ("firstOffset", .count(firstOffset)), ("log", hex(log.rawValue)),
                        ("name", .string(name.text)), ("usedAt", .count(usedAt)),
                    ])
            ]
        case .messages(let entries):
            entries.map {
                line(
                    "message",
                    [
                        ("acceptedAt", .count($0.acceptedAt)), ("account", .string($0.sender.text)),
                        ("body", base64($0.body.bytes)), ("counter", .count($0.counter)),
                        ("device", hex($0.device.rawValue)), ("offset", .count($0.offset)),
                    ])
            }
        case .device(let key, let record, let lastOffset):
            [
                line(
                    "device",
                    [
                        ("account", .string(key.account.text)), ("device", hex(key.device.rawValue)),
                        ("digests", record.digests.isEmpty ? nil : .array(record.digests.map(hex))),
                        ("gaps", .array(record.gaps.map { .array([.count($0.lowerBound), .count($0.upperBound)]) })),
                        ("lastOffset", .count(lastOffset)), ("seen", hex(record.seen)),
                        ("usedAt", .count(record.usedAt)), ("watermark", .count(record.watermark)),
                    ])
            ]
        case .branch(let log, let offset):
            [line("branch", [("log", hex(log.rawValue)), ("upTo", .count(offset))])]
        case .progress(let progress):
            progress.map { account, progress in
                line(
                    "progress",
                    [
                        ("account", .string(account.text)), ("delivered", .count(progress.delivered)),
                        ("read", .count(progress.read)),
                    ])
            }
        case .roles(let room, let roles, let creator):
            [
                line(
                    "roles",
                    [
                        ("creator", creator.map { .string($0.text) }), ("roles", base64(roles)),
                        ("room", .string(room.text)),
                    ])
            ]
        case .membership(let room, let account, let record):
            [
                line(
                    "membership",
                    [
                        ("account", .string(account.text)), ("changedAt", .count(record.changedAt)),
                        ("inviter", record.inviter.map { .string($0.text) }), ("joined", .bool(record.isJoined)),
                        ("room", .string(room.text)),
                    ])
            ]
        case .retention(let room, let bounds):
            [
                line(
                    "retention",
                    [
                        ("maxAge", bounds.maxAge.map { .count($0) }),
                        ("maxByteCount", bounds.maxByteCount.map { .count($0) }),
                        ("maxCount", bounds.maxCount.map { .count($0) }), ("room", .string(room.text)),
                    ])
            ]
        case .unknownRoles: [line("unknownRoles", [])]
        }
    }

    /// Returns an object with one member, an object. Members without a value are left out.
    private static func line(_ part: String, _ members: [(name: String, value: JSONLine?)]) -> String {
        let members = members.compactMap { name, value in value.map { JSONLine.Member(name, $0) } }
        return JSONLine.object([.init(part, .object(members))]).text
    }

    private static func hex(_ number: some BinaryInteger) -> JSONLine { .string(String(number, radix: 16)) }

    private static func base64(_ bytes: [UInt8]) -> JSONLine { .string(Base64.encode(bytes, .standard)) }

    /// The part of a line.
    ///
    /// - Throws: `Fault`, or `JSONError`.
    static func record(of line: String) throws -> StoreRecord {
        let members = try JSONReader.read(Array(line.utf8), maxByteCount: .max).members ?? []
        let known = members.filter { names.contains($0.name) && $0.value != .null }
        guard known.count == 1, let members = known[0].value.members else { throw Fault() }
        let part = Part(members: members)
        switch known[0].name {
        case "room":
            let firstOffset = try part.number("firstOffset")
            guard firstOffset > 0 else { throw Fault() }
            return .room(
                try part.room("name"), log: LogID(rawValue: try part.hex("log")), firstOffset: firstOffset,
                usedAt: try part.number("usedAt"))
        case "message":
            return .messages([
                LogEntry(
                    offset: try part.number("offset"), sender: try part.account("account"),
                    device: DeviceID(rawValue: try part.hex("device")), counter: try part.number("counter"),
                    acceptedAt: try part.number("acceptedAt"), body: EncodedBody(try part.bytes("body")))
            ])
        case "branch":
            return .branch(LogID(rawValue: try part.hex("log")), upTo: try part.number("upTo"))
        case "device":
            let key = DeviceKey(
                account: try part.account("account"), device: DeviceID(rawValue: try part.hex("device")))
            return .device(key, try part.deviceRecord(), lastOffset: try part.number("lastOffset"))
        case "progress":
            let progress = AccountProgress(delivered: try part.number("delivered"), read: try part.number("read"))
            return .progress([try part.account("account"): progress])
        case "membership":
            guard case .bool(let isJoined)? = part["joined"] else { throw Fault() }
            let inviter = try part["inviter"].map { _ throws(Fault) in try part.text("inviter") }
            let record = MembershipRecord(
                isJoined: isJoined, inviter: inviter.flatMap { AccountName($0) },
                changedAt: try part.number("changedAt"))
            return .membership(try part.room("room"), try part.account("account"), record)
        case "retention":
            func bound(_ name: String) throws -> UInt64? {
                guard part[name] != nil else { return nil }
                let number = try part.number(name)
                guard number > 0 else { throw Fault() }
                return number
            }
            let bounds = RoomRetention(
                maxAge: try bound("maxAge"), maxCount: try bound("maxCount"),
                maxByteCount: try bound("maxByteCount"))
            return .retention(try part.room("room"), bounds)
        case "unknownRoles": return .unknownRoles
        default:
            let roles = try part.bytes("roles")
            // The mark of lost roles is the only stored form that is not valid.
            guard roles == [0] || (try? RoomRoles(decoding: roles)) != nil else { throw Fault() }
            let creator = try part["creator"].map { _ throws(Fault) in try part.account("creator") }
            return .roles(try part.room("room"), roles, creator: creator)
        }
    }

    private static let names: Set = [
        "room", "message", "branch", "device", "progress", "roles", "membership", "retention",
        "unknownRoles",
    ]

    /// The members of a part.
    private struct Part {
        let members: [JSONMember]

        /// The value of a member; nil if it is absent or null.
        subscript(name: String) -> JSONValue? { members[name].flatMap { $0 == .null ? nil : $0 } }

        func text(_ name: String) throws(Fault) -> String { try value(self[name]?.string) }

        func number(_ name: String) throws(Fault) -> UInt64 { try value(self[name]?.unsigned) }

        func hex(_ name: String) throws(Fault) -> UInt64 { try value(UInt64(text(name), radix: 16)) }

        func bytes(_ name: String) throws(Fault) -> [UInt8] { try value(Base64.decode(text(name).utf8, .standard)) }

        func room(_ name: String) throws(Fault) -> RoomName { try value(RoomName(text(name))) }

        func account(_ name: String) throws(Fault) -> AccountName { try value(AccountName(text(name))) }

        func deviceRecord() throws(Fault) -> DeviceRecord {
            let gaps = try value(self["gaps"]?.elements).map { gap throws(Fault) in
                let bounds = gap.elements?.compactMap(\.unsigned) ?? []
                guard bounds.count == 2, bounds[0] <= bounds[1] else { throw Fault() }
                return bounds[0]...bounds[1]
            }
            let digests = try value((self["digests"] ?? .array([])).elements).map { digest throws(Fault) in
                try value(digest.string.flatMap { UInt16($0, radix: 16) })
            }
            guard digests.isEmpty || digests.count == DeviceRecord.digestCount else { throw Fault() }
            return DeviceRecord(
                watermark: try number("watermark"), seen: try hex("seen"), gaps: gaps, digests: digests,
                usedAt: try number("usedAt"))
        }

        private func value<Value>(_ value: Value?) throws(Fault) -> Value {
            guard let value else { throw Fault() }
            return value
        }
    }
}
