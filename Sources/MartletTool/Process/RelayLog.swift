import Foundation
import MartletProtocol
import MartletRelay
import MartletSQLite
import MartletToolSupport
import MartletTransport
import MartletWire

/// The format of a relay's events as lines of a log.
enum RelayLog {
    /// An event of the log.
    enum Event: Sendable {
        /// The relay listens on an address.
        case listening(SocketAddress)
        /// An event of the relay.
        case relay(RelayEvent)
        /// An event of the store of `--store`.
        case store(StoreEvent)
        /// The certificates were read again; the text is the error if this failed.
        case reloaded(String?)
        /// The relay has ended.
        case ended(RelayStatistics)
        /// The number of lines before this one that could not be written.
        case dropped(Int)
        /// The number of records that the audit log has lost.
        case auditLost(Int)
    }

    /// An event with its time.
    struct Entry: Sendable {
        var event: Event
        /// The time in milliseconds since 1970.
        var time: UInt64 = EventLoop.wallClock
    }

    /// Returns an event as JSON, with its time in milliseconds since 1970.
    static func json(_ entry: Entry) -> String {
        JSONLine.object([.init("time", .count(entry.time))] + members(of: entry.event)).text
    }

    /// Returns an event as text, with its time in UTC (RFC 3339).
    static func text(_ entry: Entry) -> String {
        let words = members(of: entry.event).map { member in
            let value = if case .string(let text) = member.value { word(text) } else { member.value.text }
            return member.name == "event" || bareNames.contains(member.name) ? value : "\(member.name)=\(value)"
        }
        return "\(date(entry.time)) \(words.joined(separator: " "))"
    }

    /// Returns a text as one word. A text that could be read as several words or as a field is quoted as in JSON.
    private static func word(_ text: String) -> String {
        let text = SafeText.line(text)
        let isWord = !text.isEmpty && !text.contains { $0.isWhitespace || "\"\\=".contains($0) }
        return isWord ? text : JSONLine.string(text).text
    }

    /// Returns a time as text. Seconds and milliseconds are formatted separately, because a fraction would be truncated
    /// to the previous millisecond.
    static func date(_ time: UInt64) -> String {
        let seconds = Date(timeIntervalSince1970: Double(time / 1000)).formatted(Date.ISO8601FormatStyle())
        return "\(seconds.dropLast()).\(String(1000 + time % 1000).dropFirst())Z"
    }

    /// The names of the members whose values are shown without their names.
    private static let bareNames: Set<String> = ["account", "device", "code", "room", "error", "address"]

    private static func members(of event: Event) -> [JSONLine.Member] {
        switch event {
        case .listening(let address):
            named("listening", [.init("address", .string("\(address)")), .init("port", .count(address.port))])
        case .relay(let event): members(of: event)
        case .store(let event): members(of: event)
        case .reloaded(let error):
            named(error == nil ? "reloaded" : "reloadFailed", error.map { [.init("error", .string($0))] } ?? [])
        case .ended(let statistics):
            named(
                "ended",
                [
                    .init("connections", .count(statistics.connectionsAccepted)),
                    .init("resumes", .count(statistics.resumes)),
                    .init("resumesRefused", .count(statistics.resumesRefused)),
                    .init("faults", .count(statistics.faults)), .init("messages", .count(statistics.messagesStored)),
                ])
        case .dropped(let count): named("linesDropped", [.init("count", .count(count))])
        case .auditLost(let count): named("auditRecordsLost", [.init("count", .count(count))])
        }
    }

    private static func members(of event: RelayEvent) -> [JSONLine.Member] {
        switch event {
        case .note(let note, let peer):
            members(of: note) + (peer.map { [.init("peer", .string("\($0)"))] } ?? [])
        case .connectionsRefused(let count, let peer):
            named(
                "connectionsRefused",
                [.init("count", .count(count))] + (peer.map { [.init("peer", .string("\($0)"))] } ?? []))
        case .proxyRefused(let peer):
            named("proxyRefused", peer.map { [.init("peer", .string("\($0)"))] } ?? [])
        case .revoked(let account): named("revoked", [.init("account", .string(account.text))])
        case .roomDecisionsRevoked(let account, let room):
            named(
                "roomDecisionsRevoked",
                (account.map { [.init("account", .string($0.text))] } ?? [])
                    + (room.map { [.init("room", .string($0.text))] } ?? []))
        case .acceptingPaused(let error): named("acceptingPaused", [.init("error", .string("\(error)"))])
        case .tlsFailed(let error, let peer):
            named(
                "tlsFailed",
                [.init("error", .string("\(error)"))] + (peer.map { [.init("peer", .string("\($0)"))] } ?? []))
        case .diskSpaceChanged(let level, let freeByteCount):
            named(
                "diskSpace", [.init("level", .string(level.rawValue)), .init("freeByteCount", .count(freeByteCount))])
        case .attachmentsFailed(let error): named("attachmentsFailed", [.init("error", .string("\(error)"))])
        case .storeFailed(let room, let error):
            named("storeFailed", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .membershipsFailed(let account, let error):
            named("membershipsFailed", [.init("account", .string(account.text)), .init("error", .string("\(error)"))])
        case .authenticatorFailed(let account, let error):
            named(
                "authenticatorFailed",
                [.init("account", .string(account.text)), .init("error", .string("\(error)"))])
        case .authenticationRefused(let account, let cause):
            named(
                "authenticationRefused",
                [.init("account", .string(account.text)), .init("cause", .string(cause))])
        case .policyFailed(let room, let error):
            named("policyFailed", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .undeliveredFailed(let room, let error):
            named("undeliveredFailed", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .undeliveredReportsDropped(let count): named("undeliveredReportsDropped", [.init("count", .count(count))])
        }
    }

    private static func members(of event: StoreEvent) -> [JSONLine.Member] {
        switch event {
        case .setAside(let path, let savedRoomCount, let lostRoomCount, let lostRolesCount):
            named(
                "storeSetAside",
                [
                    .init("path", .string(path)), .init("savedRooms", .count(savedRoomCount)),
                    .init("lostRooms", .count(lostRoomCount)), .init("lostRoles", .count(lostRolesCount)),
                ])
        case .copyOpened(let roomCount, let foreignLog):
            named(
                "storeCopyOpened",
                [.init("rooms", .count(roomCount))] + (foreignLog.map { [.init("foreignLog", .string($0))] } ?? []))
        case .rolesUnknown: named("rolesUnknown", [])
        case .clockJumped(let milliseconds):
            named("clockJumped", [.init("milliseconds", .string("\(milliseconds)"))])
        case .retentionFailed(let error): named("retentionFailed", [.init("error", .string("\(error)"))])
        }
    }

    private static func members(of note: RelayNote) -> [JSONLine.Member] {
        switch note {
        case .linked(let key, _): device("linked", key)
        case .resumed(let key, _, let epoch): device("resumed", key) + [.init("epoch", .count(epoch.rawValue))]
        case .suspended(let key, _): device("suspended", key)
        case .ended(let key, _): device("ended", key)
        case .refused(let account, let code, let cause):
            named(
                "refused",
                [.init("account", .string(account.text)), .init("code", .string(code.name))]
                    + (cause.map { [.init("cause", .string($0))] } ?? []))
        case .roomRefused(let key, let room):
            device("roomRefused", key) + [.init("room", .string(room.text))]
        case .roomCreated(let key, let room, let status):
            device("roomCreated", key) + [.init("room", .string(room.text))] + code(status)
        case .roomOperation(let record):
            device("roomOperation", record.actor) + [
                .init("room", .string(record.room.text)), .init("operation", .string(record.method.rawValue)),
            ] + (record.target.map { [.init("target", .string($0.text))] } ?? [])
                + (record.value.map { [.init("value", .string($0))] } ?? []) + code(record.status)
        case .rolesInvalid(let room, let error):
            named("rolesInvalid", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .faulted(let code): named("faulted", [.init("code", .string(code.name))])
        }
    }

    /// The code of a refusal; nothing for `none`.
    private static func code(_ status: ErrorCode) -> [JSONLine.Member] {
        status == .none ? [] : [.init("code", .string(status.name))]
    }

    private static func device(_ event: String, _ key: DeviceKey) -> [JSONLine.Member] {
        named(
            event,
            [
                .init("account", .string(key.account.text)),
                .init("device", .string(String(key.device.rawValue, radix: 16))),
            ])
    }

    private static func named(_ event: String, _ members: [JSONLine.Member]) -> [JSONLine.Member] {
        [.init("event", .string(event))] + members
    }
}
