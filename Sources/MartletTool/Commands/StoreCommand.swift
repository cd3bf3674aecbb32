import MartletDatabase
import MartletLink
import MartletPostgres
import MartletRelay
import MartletRelaySQLite
import MartletToolSupport
import MartletTransport

/// `martlet store`: the operations on the directory of `martlet serve --store`.
enum StoreCommand {
    private enum Action: String {
        case check, export, `import`, compact, backup, restore, copy
        case resetRoles = "reset-roles"
        case trustClock = "trust-clock"
    }

    /// The messages of one row that an import writes.
    private static let partCount = 256

    private static let verify = Option.flag("verify", help: "with copy: read both stores at the end, and compare them")
    private static let json = Option.flag("json", help: "with copy: write the result as a JSON object")

    private static let from = Option.text(
        "from", "NAME=URI", help: "with copy: a database of those over which the rooms of the source are spread"
    ).repeating
    private static let to = Option.text(
        "to", "NAME=URI", help: "with copy: a database of those over which the rooms of the copy are spread"
    ).repeating

    static let spec = CommandSpec(
        name: "store",
        summary: "Check, back up, restore, copy, export, import or compact what a relay keeps, or reset lost roles.",
        operand: "ACTION [DIR] [TARGET]",
        options: [verify.spec, json.spec, from.spec, to.spec],
        notes: [
            """
            check reads everything, attachments included, and prints each fault. backup writes a copy of rooms and \
            attachments to the new folder TARGET, and reads it. restore puts the backup TARGET in the place of the \
            rooms in DIR, whose files are renamed, and adds its attachments.
            """,
            """
            After a restore each room continues under another identity of its log. A reader that has received messages \
            that are not in the backup is notified, and receives all messages after the last one of the backup.
            """,
            """
            export writes all rooms to standard output as lines of JSON, without attachments, and import reads such \
            lines from standard input; it adds rooms and changes none. export first writes a copy to the folder for \
            temporary files (TMPDIR).
            """,
            """
            copy writes all rooms of DIR, with the identities of their logs, to TARGET, one of which is the URI of a \
            database of PostgreSQL. TARGET is empty, or a copy of DIR that no relay has used: rooms that have not \
            changed are skipped. So a copy that was interrupted is continued by the same command, and so is one that \
            was made while a relay used DIR: end the relay, repeat the command, and start a relay with TARGET. Roles, \
            memberships, marks, bounds of rooms and the counters of devices are copied, attachments are not.
            """,
            """
            The rooms of the copy are spread over several databases if --to is given for each of them, in the place of \
            TARGET, and --from is the same for DIR: as --store of 'martlet serve'. So rooms are spread anew when \
            databases are added: copy to new ones, or to new schemas, with all names.
            """,
            """
            check, export and backup may be used while a relay runs, and read the state of one instant; copy reads \
            that of an instant for each room. The other actions, and copy for TARGET, require that no relay uses it.
            """,
            """
            After damage of a file with roles, a relay with --room-roles refuses the rooms whose roles were lost, or \
            every room without stored roles. reset-roles discards the lost roles: a room with messages is then open \
            and has no owner, and any other room belongs to the account that opens it first. Use it only when an \
            account with 'administer' sets the roles again before others use the rooms.
            """,
            """
            A relay measures the age of messages by a clock that does not follow a jump of the system's clock until \
            both have agreed for a day. trust-clock sets it to the system's clock: use it when that clock is right, \
            and old messages have to be removed without this delay.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the action is complete"),
            ExitMeaning(
                .failure,
                "check or backup has found a fault, and a backup is written without damaged attachments; or the copy "
                    + "differs"),
            ExitMeaning(
                .dataError,
                "the backup has a fault, and nothing is restored; or a line of an import is not valid, or its room "
                    + "exists, and earlier rooms are imported"),
            ExitMeaning(.noInput, "there is no store in DIR, or it cannot be read"),
            ExitMeaning(
                .cannotCreate,
                "a file cannot be written, another process uses DIR, or TARGET of a copy is in use or not empty"),
        ]
    ) { arguments in
        guard arguments.operands.first == Action.copy.rawValue else { return try run(arguments) }
        return try await copy(arguments)
    }

    static func run(_ arguments: ParsedArguments) throws -> ExitCode {
        guard let word = arguments.operands.first, let action = Action(rawValue: word) else {
            throw UsageError(
                message: "the first operand is check, backup, restore, copy, export, import, compact, reset-roles or "
                    + "trust-clock")
        }
        for option in [verify.spec, json.spec, from.spec, to.spec] where arguments.values[option.name] != nil {
            throw UsageError(message: "'--\(option.name)' requires the action copy")
        }
        let hasBackup = action == .backup || action == .restore
        guard arguments.operands.count == (hasBackup ? 3 : 2) else {
            throw UsageError(message: "'\(word)' takes \(hasBackup ? "DIR and TARGET" : "DIR")")
        }
        let directory = arguments.operands[1]
        guard !PostgresStore.isURI(directory) else {
            throw UsageError(message: "'\(word)' works on directories: see Guides/postgres.md for databases")
        }
        let path = "\(directory)/\(StoreSchema.fileName)"
        switch action {
        case .check: return try check(directory)
        case .export: try export(directory)
        case .import: try add(to: directory, path) { readLine() }
        case .compact:
            try change(directory) {
                let database = try StoreFile.open(path, at: EventLoop.wallClock) { _ in }
                try database.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
            }
        case .resetRoles: try change(directory) { try StoreFile.resetLostRoles(at: path) }
        case .trustClock: try change(directory) { try StoreFile.trustClock(at: path, time: EventLoop.wallClock) }
        case .backup: return try backUp(directory, to: arguments.operands[2])
        case .restore: try restore(arguments.operands[2], to: directory)
        case .copy: break
        }
        return .success
    }

    // MARK: Copies

    static func copy(_ arguments: ParsedArguments) async throws -> ExitCode {
        var operands = arguments.operands.dropFirst()
        let from = try place(arguments.all(from), "--from", &operands)
        let to = try place(arguments.all(to), "--to", &operands)
        guard let from, let to, operands.isEmpty else {
            throw UsageError(message: "'copy' takes DIR or --from, and TARGET or --to")
        }
        let source = try await source(from)
        let destination: any TransferDestination
        do {
            destination = try await self.destination(to)
        } catch {
            await source.close()
            throw CommandError(.cannotCreate, "\(error)")
        }
        let (report, differences): (StoreTransfer.Report, [String]?)
        do {
            report = try await StoreTransfer.copy(from: source, to: destination)
            differences = arguments.has(verify) ? try await StoreTransfer.differences(source, destination) : nil
        } catch {
            for store in [source, destination] { await store.close() }
            throw CommandError(.cannotCreate, "\(error)")
        }
        for store in [source, destination] { await store.close() }
        try Output.print(arguments.has(json) ? json(of: report, differences) : text(of: report, differences))
        for difference in differences ?? [] { Output.report("martlet: \(SafeText.line(difference))") }
        return differences?.isEmpty ?? true ? .success : .failure
    }

    /// The place of an option, or of the next operand without it; nil without either.
    private static func place(
        _ named: [String], _ option: String, _ operands: inout ArraySlice<String>
    ) throws(UsageError) -> StorePlace? {
        let texts = named.isEmpty ? operands.popFirst().map { [$0] } ?? [] : named
        return texts.isEmpty ? nil : try StorePlace(texts, of: option)
    }

    private static func source(_ place: StorePlace) async throws(CommandError) -> any TransferSource {
        do {
            return switch place {
            case .directory(let path): try SQLiteTransferSource(at: path)
            case .database(let uri): try await PostgresTransferSource(uri)
            case .databases(let databases): try await ShardsTransferSource(databases)
            }
        } catch { throw CommandError(.noInput, "\(error)") }
    }

    private static func destination(_ place: StorePlace) async throws -> any TransferDestination {
        switch place {
        case .directory(let path): try SQLiteTransferDestination(at: path)
        case .database(let uri): try await PostgresTransferDestination(uri)
        case .databases(let databases): try await ShardsTransferDestination(databases)
        }
    }

    private static func text(of report: StoreTransfer.Report, _ differences: [String]?) -> String {
        let rooms = "\(report.roomCount) rooms, \(report.roomCount - report.copiedCount) of them unchanged"
        let others = "\(report.messageCount) messages and \(report.recordCount) records copied"
        let end = differences.map { $0.isEmpty ? "; the stores are equal" : "; the stores differ" } ?? ""
        return "\(rooms): \(others), \(report.removedCount) rooms removed\(end)"
    }

    private static func json(of report: StoreTransfer.Report, _ differences: [String]?) -> String {
        JSONLine.object(
            [
                .init("rooms", .count(report.roomCount)), .init("copied", .count(report.copiedCount)),
                .init("removed", .count(report.removedCount)), .init("messages", .count(report.messageCount)),
                .init("records", .count(report.recordCount)),
            ] + (differences.map { [.init("differences", .array($0.map { .string($0) }))] } ?? [])
        ).text
    }

    private static func backUp(_ directory: String, to target: String) throws -> ExitCode {
        guard unsafe access(target, F_OK) != 0 else {
            throw CommandError(.cannotCreate, "\(target) exists")
        }
        _ = try read(StoreBackup.rooms(of: directory)) { $0 }
        var faultCount = 0
        do {
            try StoreBackup.make(of: directory, at: target) { fault in
                faultCount += 1
                try print(fault: fault)
            }
        } catch let error as DatabaseError {
            throw CommandError(.cannotCreate, text(of: error, writing: target))
        } catch let error as FileError {
            throw CommandError(.cannotCreate, "cannot back up to \(target): \(error)")
        }
        return faultCount == 0 ? .success : .failure
    }

    private static func restore(_ backup: String, to directory: String) throws {
        let isFolder = (try? Folder.names(in: backup).isEmpty) == false
        _ = try read(isFolder ? StoreBackup.rooms(of: backup) : backup) { $0 }
        let result = try write {
            try StoreBackup.restore(backup, to: directory, at: EventLoop.wallClock, print(fault:))
        }
        guard result.isRestored else { throw CommandError(.dataError, "\(backup) has faults; nothing was restored") }
        if let aside = result.aside { Output.report("martlet: the earlier rooms are in \(aside)") }
    }

    private static func export(_ directory: String) throws {
        let number = String(UInt64.random(in: 0 ... .max), radix: 16)
        let name = "\(Environment["TMPDIR"] ?? "/tmp")/martlet-export-\(number)"
        let copy = try read(StoreBackup.rooms(of: directory)) { store in try store.snapshot(at: name) }
        try reading { try copy.forEachRecord(print) }
        let count = try write { try AttachmentArchive(directory: StoreBackup.attachments(of: directory)).files().count }
        if count > 0 { Output.report("martlet: \(count) attachments are not exported; 'store backup' copies them") }
    }

    /// The text of a backup's error. The database names its own file where the target is concerned.
    private static func text(of error: DatabaseError, writing target: String) -> String {
        switch error {
        case .full: "\(DatabaseError.full(path: target))"
        case .readOnly, .cannotOpen: "\(DatabaseError.cannotOpen(path: target))"
        default: "cannot back up to \(target): \(error)"
        }
    }

    private static func print(fault: String) throws {
        try Output.print(SafeText.line(text(ofFault: fault)))
    }

    private static func check(_ directory: String) throws -> ExitCode {
        var faultCount = 0
        func count(_ fault: String) throws {
            faultCount += 1
            try print(fault: fault)
        }
        try read(StoreBackup.rooms(of: directory)) { try $0.check(count) }
        try write { try StoreBackup.checkAttachments(of: directory, count) }
        return faultCount == 0 ? .success : .failure
    }

    /// The text of a fault, without the advice of other commands to check the store.
    static func text(ofFault fault: String) -> String {
        let advice = "run 'martlet store check', and "
        guard let start = fault.indices.first(where: { fault[$0...].hasPrefix(advice) }) else { return fault }
        return String(fault[..<start] + fault[start...].dropFirst(advice.count))
    }

    private static func print(_ record: StoreRecord) throws {
        for line in StoreLine.lines(of: record) { try Output.print(line) }
    }

    /// Adds the parts of lines to a store. Consecutive messages share rows.
    static func add(to directory: String, _ path: String, _ nextLine: () -> String?) throws {
        let target = try write {
            let lock = try SQLiteStore.lock(directory)
            return (lock: lock, store: try StoreImport(path: path, isBranching: true))
        }
        defer { withExtendedLifetime(target.lock) {} }
        var number = 0
        var messages: [LogEntry] = []
        do {
            while let line = nextLine() {
                number += 1
                let record = try StoreLine.record(of: line)
                if case .messages(let entries) = record {
                    messages += entries
                    if messages.count < partCount { continue }
                }
                if !messages.isEmpty { try target.store.add(.messages(messages)) }
                messages = []
                if case .messages = record { continue }
                try target.store.add(record)
            }
            if !messages.isEmpty { try target.store.add(.messages(messages)) }
            try target.store.endRoom()
        } catch DatabaseError.constraint {
            target.store.discardRoom()
            throw CommandError(.dataError, "line \(number): the store has this part")
        } catch let error as DatabaseError {
            target.store.discardRoom()
            throw CommandError(.cannotCreate, "\(error)")
        } catch {
            target.store.discardRoom()
            let reason = (error as? StoreError).map { "\($0)" } ?? "not a valid line of an exported store"
            throw CommandError(.dataError, "line \(number): \(reason)")
        }
    }

    private static func read<Value>(_ path: String, _ body: (StoreContents) throws -> Value) throws -> Value {
        try reading { try body(try StoreContents(path: path)) }
    }

    private static func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw CommandError(.noInput, "\(error)")
        } catch let error as StoreError {
            throw CommandError(.noInput, "\(error)")
        }
    }

    /// Changes an existing store that no relay uses.
    private static func change(_ directory: String, _ body: () throws -> Void) throws {
        try write {
            let lock = try SQLiteStore.lock(directory)
            defer { withExtendedLifetime(lock) {} }
            _ = try StoreContents(path: "\(directory)/\(StoreSchema.fileName)")
            try body()
        }
    }

    private static func write<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw CommandError(.cannotCreate, "\(error)")
        } catch let error as FileError {
            throw CommandError(.cannotCreate, "\(error)")
        }
    }
}
