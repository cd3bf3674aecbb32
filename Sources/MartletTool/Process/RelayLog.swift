import MartletAdmin
import MartletDatabase
import MartletLink
import MartletNATS
import MartletPostgres
import MartletRelay
import MartletRelaySQLite
import MartletTelemetry
import MartletToolSupport
import MartletTransport
import MartletWire

/// The format of a relay's events as lines of a log.
enum RelayLog {
    /// An event of the log.
    enum Event: Sendable {
        /// The relay listens on an address.
        case listening(SocketAddress)
        /// The port of `--admin` listens on an address.
        case adminListening(SocketAddress)
        /// An alert of `--alerts` is raised, or ends.
        case alert(AlertChange)
        /// An action on a change of an alert has failed, for this reason.
        case alertActionFailed(AlertChange, String)
        /// An event of the exporter of `--telemetry`.
        case telemetry(InfluxExporter.Event)
        /// An event of the relay that has no audit record.
        case relay(RelayEvent)
        /// An event of the relay, or a group of refusals.
        case audited(AuditRecord)
        /// A number of events of one kind, of which this is the last.
        indirect case repeated(Event, Int)
        /// An event of the store of `--store`.
        case store(StoreEvent)
        /// An event of a database of `--store`, with its name if it is one of several.
        case database(PostgresEvent, String?)
        /// An event of the bus of `--bus`.
        case bus(NATSEvent)
        /// The files of accounts, rules and certificates were read again; the text is the error if this failed, and
        /// nothing has changed.
        case reloaded(String?)
        /// These options have changed in the configuration file, and take effect at the next start.
        case restartRequired([String])
        /// The file of the audit log was opened again; the text is the error if this failed.
        case reopened(String?)
        /// The relay cannot start.
        case startFailed(CommandError)
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

    /// The severity of an event. A log has the events of one level and of all before it.
    enum Level: String, CaseIterable, Comparable, Sendable {
        /// The relay cannot do a part of its work.
        case error
        /// The relay has refused a peer, or something needs attention.
        case warning
        /// A change: a sign-in, an operation, the start and the end.
        case info
        /// Each connection.
        case debug

        /// The priority of syslog(3).
        fileprivate var priority: Int {
            switch self {
            case .error: 3
            case .warning: 4
            case .info: 6
            case .debug: 7
            }
        }

        static func < (left: Level, right: Level) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    /// Returns an event as JSON, with its time in UTC (RFC 3339) and the names of the audit log.
    static func json(_ entry: Entry) -> String {
        JSONLine.object([.init("time", .string(date(entry.time)))] + members(of: entry.event)).text
    }

    /// Returns an event as text, with its time in UTC (RFC 3339).
    static func text(_ entry: Entry) -> String { "\(date(entry.time)) \(words(of: entry.event))" }

    /// Returns an event as text for the journal of systemd, with its priority (sd-daemon(3)).
    static func journal(_ entry: Entry) -> String { "<\(entry.event.level.priority)>\(words(of: entry.event))" }

    private static func words(of event: Event) -> String {
        let words = members(of: event).map { member in
            let value = if case .string(let text) = member.value { word(text) } else { member.value.text }
            return member.name == "event" || bareNames.contains(member.name) ? value : "\(member.name)=\(value)"
        }
        return words.joined(separator: " ")
    }

    /// Returns a text as one word. A text that could be read as several words or as a field is quoted as in JSON.
    private static func word(_ text: String) -> String {
        let text = SafeText.line(text)
        let isWord = !text.isEmpty && !text.contains { $0.isWhitespace || "\"\\=".contains($0) }
        return isWord ? text : JSONLine.string(text).text
    }

    /// Returns a time in milliseconds since 1970 as text.
    static func date(_ time: UInt64) -> String {
        "\(ClockText.utc(Int64(time / 1000))).\(String(1000 + time % 1000).dropFirst())Z"
    }

    /// The names of the members whose values are shown without their names.
    private static let bareNames: Set<String> = ["account", "device", "code", "room", "error", "address"]

    private static func members(of event: Event) -> [JSONLine.Member] {
        switch event {
        case .listening(let address):
            named("listening", [.init("address", .string("\(address)")), .init("port", .count(address.port))])
        case .adminListening(let address):
            named("adminListening", [.init("address", .string("\(address)")), .init("port", .count(address.port))])
        case .alert(let change):
            named(
                change.isRaised ? "alertRaised" : "alertEnded",
                [.init("alert", .string(change.name))] + (change.value.map { [.init("value", .decimal($0))] } ?? []))
        case .alertActionFailed(let change, let reason):
            named("alertActionFailed", [.init("alert", .string(change.name)), .init("error", .string(reason))])
        case .telemetry(let event): members(of: event)
        case .relay(let event): members(of: event)
        case .audited(let record): AuditLog.members(of: record)
        case .repeated(let event, let count): members(of: event) + [.init("count", .count(count))]
        case .store(let event): members(of: event)
        case .database(let event, let name):
            members(of: event) + (name.map { [.init("database", .string($0))] } ?? [])
        case .bus(let event): members(of: event)
        case .reloaded(let error):
            named(error == nil ? "reloaded" : "reloadFailed", error.map { [.init("error", .string($0))] } ?? [])
        case .restartRequired(let options):
            named("restartRequired", [.init("options", .array(options.map { .string($0) }))])
        case .reopened(let error):
            named(
                error == nil ? "auditReopened" : "auditReopenFailed", error.map { [.init("error", .string($0))] } ?? [])
        case .startFailed(let error):
            named(
                "startFailed", [.init("error", .string(error.message)), .init("exitCode", .count(error.code.rawValue))])
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
        case .revoked, .kicked, .roomDecisionsRevoked: AuditRecord(event).map { AuditLog.members(of: $0) } ?? []
        case .drainRequested(let relay): named("drainRequested", [.init("relay", .string(relay))])
        case .busFaulted(let relay, let fault):
            named(
                "busFaulted",
                (relay.map { [.init("relay", .string("\($0)"))] } ?? []) + [.init("error", .string("\(fault)"))])
        case .busNameShared(let relay): named("busNameShared", [.init("relay", .string("\(relay)"))])
        case .storeRecovered: named("storeRecovered", [])
        case .acceptingPaused(let error): named("acceptingPaused", [.init("error", .string("\(error)"))])
        case .tlsFailed(let error, let peer): failure("tlsFailed", error, peer)
        case .webSocketFailed(let error, let peer): failure("webSocketFailed", error, peer)
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
                [.init("account", .string(account.text)), .init("reason", .string(cause))])
        case .policyFailed(let room, let error):
            named("policyFailed", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .undeliveredFailed(let room, let error):
            named("undeliveredFailed", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .undeliveredReportsDropped(let count): named("undeliveredReportsDropped", [.init("count", .count(count))])
        }
    }

    private static func failure(_ name: String, _ error: any Error, _ peer: SocketAddress?) -> [JSONLine.Member] {
        named(
            name, [.init("error", .string("\(error)"))] + (peer.map { [.init("peer", .string("\($0)"))] } ?? []))
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

    private static func members(of event: PostgresEvent) -> [JSONLine.Member] {
        switch event {
        case .lost(let error): named("databaseLost", [.init("error", .string("\(error)"))])
        case .recovered(let duration):
            named("databaseRecovered", [.init("milliseconds", .count(Int(duration / .milliseconds(1))))])
        case .abandoned(let calls, let messages):
            named("databaseAbandoned", [.init("calls", .count(calls)), .init("messages", .count(messages))])
        case .clockJumped(let milliseconds): members(of: StoreEvent.clockJumped(milliseconds: milliseconds))
        case .retentionFailed(let error): members(of: StoreEvent.retentionFailed(error))
        }
    }

    private static func members(of event: NATSEvent) -> [JSONLine.Member] {
        switch event {
        case .lost(let reason): named("busLost", [.init("error", .string(reason))])
        case .recovered: named("busRecovered", [])
        case .payloadTooSmall(let error): named("busPayloadTooSmall", [.init("error", .string("\(error)"))])
        }
    }

    private static func members(of event: InfluxExporter.Event) -> [JSONLine.Member] {
        switch event {
        case .unavailable(let status):
            named("telemetryUnavailable", status.map { [.init("status", .count($0))] } ?? [])
        case .recovered: named("telemetryRecovered", [])
        case .rejected(let count, let status):
            named("telemetryRejected", [.init("count", .count(count)), .init("status", .count(status))])
        case .spoolDamaged(let byteCount):
            named("telemetrySpoolDamaged", [.init("byteCount", .count(byteCount))])
        case .spoolFailed(let error): named("telemetrySpoolFailed", [.init("error", .string(error))])
        case .spoolRecovered: named("telemetrySpoolRecovered", [])
        case .spoolFull: named("telemetrySpoolFull", [])
        }
    }

    private static func members(of note: RelayNote) -> [JSONLine.Member] {
        switch note {
        case .link(.suspended(let key, _)): device("suspended", key)
        case .link(.ended(let key, _)): device("ended", key)
        case .link(.linked), .link(.resumed), .link(.refused), .roomRefused, .roomCreated, .roomOperation,
            .administered:
            AuditRecord(.note(note, peer: nil)).map { AuditLog.members(of: $0) } ?? []
        case .rolesInvalid(let room, let error):
            named("rolesInvalid", [.init("room", .string(room.text)), .init("error", .string("\(error)"))])
        case .link(.faulted(let code)): named("faulted", [.init("code", .string(code.name))])
        }
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

extension RelayLog.Event {
    /// The severity.
    var level: RelayLog.Level {
        switch self {
        case .relay(let event): Self.level(of: event)
        case .repeated(let event, _): event.level
        case .audited(let record): record.isRefusal ? .warning : record.event == .resumed ? .debug : .info
        case .alert(let change): change.isRaised ? .warning : .info
        case .store(.clockJumped), .database(.clockJumped, _), .database(.recovered, _), .bus(.lost), .bus(.recovered),
            .restartRequired:
            .warning
        case .telemetry(.recovered), .telemetry(.spoolRecovered): .info
        case .telemetry(.rejected), .telemetry(.unavailable), .telemetry(.spoolFull): .warning
        case .telemetry, .store, .database, .bus(.payloadTooSmall), .reloaded(.some), .reopened(.some), .startFailed,
            .dropped, .auditLost,
            .alertActionFailed:
            .error
        case .listening, .adminListening, .reloaded(nil), .reopened(nil), .ended: .info
        }
    }

    private static func level(of event: RelayEvent) -> RelayLog.Level {
        switch event {
        case .note(.link(.suspended), _), .note(.link(.ended), _), .note(.link(.resumed), _): .debug
        // The refusal that follows has the same reason.
        case .authenticationRefused: .debug
        case .note(.rolesInvalid, _), .acceptingPaused, .diskSpaceChanged, .tlsFailed(_, peer: nil), .storeFailed,
            .membershipsFailed, .attachmentsFailed, .authenticatorFailed, .policyFailed, .undeliveredFailed:
            .error
        case .note(.link(.refused), _), .note(.roomRefused, _), .note(.link(.faulted), _), .connectionsRefused,
            .proxyRefused, .tlsFailed, .webSocketFailed, .undeliveredReportsDropped, .storeRecovered,
            .busFaulted, .busNameShared:
            .warning
        case .note, .revoked, .kicked, .drainRequested, .roomDecisionsRevoked: .info
        }
    }
}
