import MartletLink
import MartletRelay
import MartletToolSupport
import MartletTransport
import MartletWire

/// The audit log of `serve`: a file to which one JSON object for each record is appended.
///
/// The log never blocks the relay. If the disk is too slow, records are dropped, and their number is written later.
/// Refusals are grouped, and dropped before other records are (Specs/hostile.md row 65).
/// Records that are dropped or cannot be written are reported to the owner too.
/// After `reopen` a file of the same name receives the records, so that the earlier file can be moved away before.
final class AuditLog: Sendable {
    /// A record of the log.
    enum Event: Sendable {
        /// The relay listens on these addresses.
        case started([SocketAddress])
        /// A record of the relay.
        case relay(AuditRecord)
        /// The files of accounts, rules and certificates were read again; the text is the error if this failed.
        case reloaded(String?)
        /// The relay has ended.
        case ended
        /// The number of records before this one that could not be written.
        case dropped(Int)
    }

    /// A record with its time.
    struct Entry: Sendable {
        var event: Event
        /// The time in milliseconds since 1970.
        var time: UInt64 = EventLoop.wallClock
    }

    private let path: String
    private let descriptor: Int32
    private let log: LineLog<Entry>
    private let refusals = Guarded(AuditRefusals())

    /// Opens the file, and creates it for its owner alone if it does not exist.
    ///
    /// - Parameter onLoss: receives the number of lost records, at most once a minute and at the end.
    init(path: String, onLoss: @escaping @Sendable (Int) -> Void = { _ in }) throws(CommandError) {
        self.path = path
        let descriptor = try Self.open(path)
        self.descriptor = descriptor
        log = LineLog(to: descriptor) {
            Self.line($0)
        } dropped: {
            Self.line(Entry(event: .dropped($0)))
        } onLoss: {
            onLoss($0)
        }
    }

    private static func open(_ path: String) throws(CommandError) -> Int32 {
        // Without O_NONBLOCK the call waits for the reader of a named pipe.
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK
        let descriptor = unsafe openat(AT_FDCWD, path, flags, 0o600)
        guard descriptor >= 0 || errno != ENXIO else {
            throw CommandError(.cannotCreate, "cannot open \(path): no process reads from it")
        }
        guard descriptor >= 0 else { throw CommandError.system(.cannotCreate, "cannot open \(path)") }
        endLastLine(of: path, descriptor)
        return descriptor
    }

    /// Ends a record that the end of an earlier process has cut off. A file that cannot be read is not changed.
    private static func endLastLine(of path: String, _ descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return
        }
        let reader = Descriptors.open(path, O_RDONLY)
        guard reader >= 0 else { return }
        defer { close(reader) }
        var last: UInt8 = 0
        guard unsafe pread(reader, &last, 1, status.st_size - 1) == 1, last != UInt8(ascii: "\n") else { return }
        try? Output.write([UInt8(ascii: "\n")], to: descriptor)
    }

    /// Appends a record. The method can be called from any thread.
    func add(_ event: Event) {
        guard case .relay(let record) = event else { return log.add(Entry(event: event)) }
        add(refusals.withLock { $0.add(record, now: Instant(nanoseconds: EventLoop.clock)) })
    }

    private func add(_ records: [AuditRecord]) {
        for record in records { log.add(Entry(event: .relay(record)), isSecondary: record.isRefusal) }
    }

    /// Opens the file again, after `change` if there is one. After an error the log continues in the earlier file.
    func reopen(after change: () throws -> Void = {}) throws {
        let next = try Self.open(path)
        defer { close(next) }
        try change()
        // The thread of the log may be writing to the descriptor, so its number stays.
        guard dup2(next, descriptor) >= 0 else {
            throw CommandError.system(.cannotCreate, "cannot open \(path)")
        }
    }

    /// Checks that the file can be appended to, without creating it.
    static func check(path: String) throws(CommandError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            guard unsafe access(Folder.parent(of: path), W_OK) == 0 else {
                throw CommandError.system(.cannotCreate, "cannot create \(path)")
            }
            return
        }
        guard unsafe access(path, W_OK) == 0 else { throw CommandError.system(.cannotCreate, "cannot open \(path)") }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError(.cannotCreate, "cannot open \(path): it is a folder")
        }
    }

    /// Returns when all records are written, or after `LogBounds.finishTimeout`.
    func finish() async {
        add(refusals.withLock { $0.finish() })
        await log.finish()
    }

    // MARK: Lines

    /// Returns a record as JSON, with its time in UTC (RFC 3339).
    static func line(_ entry: Entry) -> String {
        JSONLine.object([.init("time", .string(RelayLog.date(entry.time)))] + members(of: entry.event)).text
    }

    private static func members(of event: Event) -> [JSONLine.Member] {
        switch event {
        case .started(let addresses):
            [named("started"), .init("addresses", .array(addresses.map { .string("\($0)") }))]
        case .relay(let record): members(of: record)
        case .reloaded(nil): [named("reloaded")]
        case .reloaded(let error?): [named("reloadFailed"), .init("error", .string(error))]
        case .ended: [named("ended")]
        case .dropped(let count): [named("recordsDropped"), .init("count", .count(count))]
        }
    }

    /// The members of a record, which the log has too.
    static func members(of record: AuditRecord) -> [JSONLine.Member] {
        let fields: [(String, String?)] = [
            ("account", record.account?.text),
            ("device", record.device.map { String($0.rawValue, radix: 16) }),
            ("peer", record.peer.map { "\($0)" }),
            ("room", record.room?.text),
            ("operation", record.operation?.rawValue),
            ("method", record.method?.text),
            ("target", record.target?.text),
            ("value", record.value),
            ("code", record.code?.name),
            ("reason", record.reason),
        ]
        return [named(record.event.rawValue)]
            + fields.compactMap { name, value in value.map { .init(name, .string($0)) } }
            + (record.count > 1 ? [.init("count", .count(record.count))] : [])
    }

    private static func named(_ event: String) -> JSONLine.Member { .init("event", .string(event)) }
}
