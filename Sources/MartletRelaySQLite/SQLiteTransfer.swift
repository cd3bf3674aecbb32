import MartletDatabase
package import MartletLink
package import MartletRelay
import MartletTransport
package import MartletWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A store on disk from which rooms are copied. A relay may use it.
package class SQLiteTransferSource: TransferSource {
    /// The number of rooms, messages and records, and the size of messages, that are read at once.
    private static let partCount = 256
    private static let partByteCount = 256 * 1024

    package let identity: String
    fileprivate let database: Database
    fileprivate let reader: StoreReader
    private let selectNames: Statement
    private var room: RoomName?

    /// - Throws: `DatabaseError` without a store in the directory.
    package convenience init(at directory: String) throws {
        let contents = try StoreContents(path: "\(directory)/\(StoreSchema.fileName)")
        try contents.database.execute("COMMIT")
        try self.init(contents.database, StoreReader(contents.database), directory)
    }

    fileprivate init(_ database: Database, _ reader: StoreReader, _ directory: String) throws {
        identity = "the directory \(Self.absolutePath(directory))"
        self.database = database
        self.reader = reader
        selectNames = try database.prepare(
            "SELECT name FROM rooms WHERE name > ? ORDER BY name LIMIT \(Self.partCount)")
    }

    /// The path of a directory without links.
    private static func absolutePath(_ directory: String) -> String {
        guard let path = unsafe realpath(directory, nil) else { return directory }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    nonisolated(nonsending) package func rooms(after room: RoomName?) async throws -> [RoomName] {
        selectNames.bind(1, room?.text ?? "")
        defer { selectNames.reset() }
        var names: [RoomName] = []
        while try selectNames.step() {
            guard let name = RoomName(selectNames.text(0)) else { throw DatabaseError.corrupt(path: database.path) }
            names.append(name)
        }
        return names
    }

    nonisolated(nonsending) package func begin(_ name: RoomName) async throws -> TransferredRoom? {
        try database.execute("BEGIN")
        guard let row = try reader.row(of: name) else {
            try database.execute("COMMIT")
            return nil
        }
        var found = TransferredRoom(
            name: name, log: row.log, firstOffset: row.firstOffset, lastOffset: row.lastOffset,
            byteCount: row.byteCount, usedAt: row.usedAt)
        found.branches = try reader.branches(of: row, name)
        let columns = try DeviceRecord.columns(in: database)
        let devices = try database.prepare(
            "SELECT account, device, last_offset, \(columns) FROM devices WHERE room = \(row.id)")
        while try devices.step() {
            guard let account = AccountName(devices.text(0)), let record = DeviceRecord(devices, from: 3),
                devices.uint64(2) <= row.lastOffset
            else { throw StoreError.damaged(name, offset: 0) }
            let key = DeviceKey(account: account, device: DeviceID(rawValue: devices.uint64(1)))
            found.devices[key] = TransferredRoom.Device(record: record, lastOffset: devices.uint64(2))
        }
        let progress = try database.prepare("SELECT account, delivered, read FROM progress WHERE room = \(row.id)")
        while try progress.step() {
            guard let account = AccountName(progress.text(0)),
                let marks = progress.progress(from: 1, lastOffset: row.lastOffset)
            else { throw StoreError.damaged(name, offset: 0) }
            found.progress[account] = marks
        }
        room = name
        return found
    }

    nonisolated(nonsending) package func messages(from offset: UInt64) async throws -> [LogEntry] {
        guard let room, let row = try reader.row(of: room), offset <= row.lastOffset else { return [] }
        let range = ReadRange(from: offset, maxCount: Self.partCount, maxByteCount: Self.partByteCount)
        let entries = try reader.read(range, of: room).entries
        guard entries.first?.offset == offset else { throw StoreError.damaged(room, offset: offset) }
        return entries
    }

    nonisolated(nonsending) package func end() async throws {
        room = nil
        try database.execute("COMMIT")
    }

    nonisolated(nonsending) package func records(
        of part: TransferredPart, after last: TransferredRecord?
    ) async throws -> [TransferredRecord] {
        let version = try database.schemaVersion()
        switch part {
        case .roles: return try roles(after: last)
        case .memberships: return version >= StoreSchema.membershipVersion ? try memberships(after: last) : []
        case .retention: return version >= StoreSchema.retentionVersion ? try retention(after: last) : []
        }
    }

    private func roles(after last: TransferredRecord?) throws -> [TransferredRecord] {
        let select = try database.prepare(
            "SELECT room, roles, creator FROM roles WHERE room >= ?1 ORDER BY room LIMIT \(Self.partCount + 1)")
        var records: [TransferredRecord] = []
        let after: RoomName? = if case .roles(let room, _, _, _)? = last { room } else { nil }
        select.bind(1, after?.text ?? "")
        while try select.step() {
            guard let room = RoomName(select.text(0)), select.bytes(1) != StoreSchema.lostRoles else {
                throw StoreTransferError.lostRoles
            }
            guard room != after else { continue }
            let creator = select.optionalText(2).flatMap { AccountName($0) }
            // A store of one relay counts no versions.
            records.append(.roles(room, select.bytes(1), creator: creator, version: 1))
        }
        return Array(records.prefix(Self.partCount))
    }

    private func memberships(after last: TransferredRecord?) throws -> [TransferredRecord] {
        let select = try database.prepare(
            """
            SELECT room, account, joined, inviter, changed_at FROM memberships WHERE (account, room) > (?1, ?2)
            ORDER BY account, room LIMIT \(Self.partCount)
            """)
        if case .membership(let room, let account, _)? = last {
            select.bind(1, account.text)
            select.bind(2, room.text)
        } else {
            select.bind(1, "")
            select.bind(2, "")
        }
        var records: [TransferredRecord] = []
        while try select.step() {
            let row = try MembershipReader.row(select)
            records.append(.membership(row.room, row.account, row.record))
        }
        return records
    }

    private func retention(after last: TransferredRecord?) throws -> [TransferredRecord] {
        let select = try database.prepare(
            "SELECT room, \(RoomRetention.columns) FROM retention WHERE room > ? ORDER BY room LIMIT \(Self.partCount)")
        if case .retention(let room, _)? = last { select.bind(1, room.text) } else { select.bind(1, "") }
        var records: [TransferredRecord] = []
        while try select.step() {
            guard let room = RoomName(select.text(0)), let bounds = RoomRetention(select, from: 1) else {
                throw DatabaseError.corrupt(path: database.path)
            }
            records.append(.retention(room, bounds))
        }
        return records
    }

    /// Rolls back what was not completed.
    nonisolated(nonsending) package func close() async {
        if database.isInTransaction { try? database.execute("ROLLBACK") }
    }
}

/// A store on disk that becomes a copy.
package final class SQLiteTransferDestination: SQLiteTransferSource, TransferDestination {
    private let writer: StoreWriter
    private var lock: FileLock?
    private let mark: CopyMark
    private var room: TransferredRoom?

    /// Opens the store in a directory, or creates it.
    ///
    /// - Throws: `DatabaseError`, for example `locked` while a relay uses the directory.
    package init(at directory: String) throws {
        let lock = try SQLiteStore.lock(directory)
        self.lock = lock
        mark = CopyMark(directory: directory)
        let database = try StoreFile.open(
            "\(directory)/\(StoreSchema.fileName)", at: EventLoop.wallClock
        ) { _ in }
        try lock.mark()
        var retention = StoreRetention()
        (retention.maxMessagesPerRoom, retention.maxByteCountPerRoom) = (.max, .max)
        writer = try StoreWriter(database, retention)
        try super.init(database, writer.reader, directory)
    }

    nonisolated(nonsending) package func beginCopy(of source: String) async throws {
        if mark.read()?.source != source {
            let tables = ["rooms", "roles", "memberships"].map { "EXISTS (SELECT 1 FROM \($0))" }
            let isUsed = try database.prepare("SELECT \(tables.joined(separator: " OR "))").firstInt64() != 0
            guard !isUsed else { throw StoreTransferError.notEmpty }
        }
        try mark.write(source, isComplete: false)
        try database.execute("DELETE FROM retention")
    }

    nonisolated(nonsending) package func beginRoom(_ room: TransferredRoom, keepsMessages: Bool) async throws {
        try database.execute("BEGIN IMMEDIATE")
        self.room = room
        guard !keepsMessages else { return }
        if let row = try reader.row(of: room.name) { try writer.removeRoom(row.id) }
        try writer.create(room.name, log: room.log, firstOffset: room.firstOffset, at: room.usedAt)
    }

    nonisolated(nonsending) package func add(_ messages: [LogEntry]) async throws {
        guard let room else { return }
        _ = try writer.append(messages, to: room.name)
    }

    nonisolated(nonsending) package func endRoom() async throws {
        guard let room, let row = try reader.row(of: room.name) else { throw StoreError.invalidRecord }
        self.room = nil
        for table in ["devices", "progress", "branches"] {
            try database.execute("DELETE FROM \(table) WHERE room = \(row.id)")
        }
        for (key, device) in room.devices {
            try writer.importDevice(key, device.record, lastOffset: device.lastOffset, of: room.name)
        }
        try writer.saveProgress(room.progress, of: room.name)
        for (log, offset) in room.branches { try writer.importBranch(log, upTo: offset, of: room.name) }
        try database.execute("COMMIT")
    }

    nonisolated(nonsending) package func remove(_ room: RoomName) async throws {
        guard let row = try reader.row(of: room) else { return }
        try database.transaction { try writer.removeRoom(row.id) }
    }

    nonisolated(nonsending) package func beginPart(_ part: TransferredPart) async throws {
        try database.execute("BEGIN IMMEDIATE; DELETE FROM \(part.rawValue)")
    }

    nonisolated(nonsending) package func add(_ records: [TransferredRecord]) async throws {
        for record in records {
            switch record {
            case .roles(let room, let roles, let creator, _):
                let insert = try database.prepare("INSERT INTO roles (room, roles, creator) VALUES (?, ?, ?)")
                insert.bind(1, room.text)
                insert.bind(2, roles)
                insert.bind(3, creator?.text)
                try insert.run()
            case .membership(let room, let account, let record):
                _ = try writer.saveMemberships([account: record], of: room)
            case .retention(let room, let bounds): try writer.saveRetention(bounds, of: room)
            }
        }
    }

    nonisolated(nonsending) package func endPart() async throws { try database.execute("COMMIT") }

    nonisolated(nonsending) package func endCopy() async throws {
        guard let source = mark.read()?.source else { return }
        try mark.write(source, isComplete: true)
    }

    nonisolated(nonsending) package override func close() async {
        await super.close()
        lock = nil
    }
}

/// The file that states of which source a store is a copy: `incomplete` or `complete`, and the source in the next line.
struct CopyMark {
    /// The number of bytes of the file that are read.
    private static let maxByteCount = 8192

    private let path: String

    init(directory: String) { path = "\(directory)/copy" }

    /// The source; nil for a store that is no copy.
    func read() -> (source: String, isComplete: Bool)? {
        guard let file = try? RegularFile(path, .read), let bytes = try? file.read(Self.maxByteCount, at: 0) else {
            return nil
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.count == 2 ? (String(lines[1]), lines[0] == "complete") : nil
    }

    func write(_ source: String, isComplete: Bool) throws {
        let partial = path + ".partial"
        try Folder.removeFile(partial)
        let file = try RegularFile(partial, .write)
        try file.write(Array("\(isComplete ? "complete" : "incomplete")\n\(source)\n".utf8), at: 0)
        try file.sync()
        try Folder.rename(partial, to: path)
    }

    /// A relay opens the store, which is no copy from now on.
    ///
    /// - Throws: `StoreTransferError.incomplete`.
    func open() throws {
        guard let found = read() else { return }
        guard found.isComplete else { throw StoreTransferError.incomplete(source: found.source) }
        try Folder.removeFile(path)
    }
}
