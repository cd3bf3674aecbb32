import Foundation
import MartletProtocol
import MartletSQLite
import MartletToolSupport
import MartletTransport

/// `martlet store`: the operations on the directory of `martlet serve --store`.
enum StoreCommand {
    private enum Action: String {
        case check, export, `import`, compact, backup
        case resetRoles = "reset-roles"
        case trustClock = "trust-clock"
    }

    /// The messages of one row that an import writes.
    private static let partCount = 256

    static let spec = CommandSpec(
        name: "store",
        summary: "Check, export, import, compact or back up the rooms that a relay keeps on disk, or reset lost roles.",
        operand: "ACTION DIR [FILE]",
        options: [],
        notes: [
            """
            check reads everything and prints each fault. export writes all rooms to standard output as lines of JSON, \
            and import reads such lines from standard input; it adds rooms and changes none. backup writes a copy to \
            the new file FILE: put it into a directory as rooms.sqlite to use it.
            """,
            """
            check, export and backup may be used while a relay runs, and read the state of one instant. The other \
            actions require that no relay uses the directory.
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
            ExitMeaning(.failure, "check has found a fault"),
            ExitMeaning(.dataError, "a line of an import is not valid, or its room exists; earlier rooms are imported"),
            ExitMeaning(.noInput, "there is no store in DIR, or it cannot be read"),
            ExitMeaning(.cannotCreate, "a file cannot be written, or another process uses DIR"),
        ]
    ) { try run($0) }

    static func run(_ arguments: ParsedArguments) throws -> ExitCode {
        guard let word = arguments.operands.first, let action = Action(rawValue: word) else {
            throw UsageError(
                message: "the first operand is check, export, import, compact, backup, reset-roles or trust-clock")
        }
        guard arguments.operands.count == (action == .backup ? 3 : 2) else {
            throw UsageError(message: action == .backup ? "'backup' takes DIR and FILE" : "'\(word)' takes DIR")
        }
        let directory = arguments.operands[1]
        let path = "\(directory)/\(StoreSchema.fileName)"
        switch action {
        case .check: return try check(path)
        case .export: try read(path) { store in try store.forEachRecord(print) }
        case .import: try add(to: directory, path) { readLine() }
        case .compact:
            try change(directory) {
                let database = try StoreFile.open(path, at: EventLoop.wallClock) { _ in }
                try database.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
            }
        case .resetRoles: try change(directory) { try StoreFile.resetLostRoles(at: path) }
        case .trustClock: try change(directory) { try StoreFile.trustClock(at: path, time: EventLoop.wallClock) }
        case .backup:
            let target = arguments.operands[2]
            guard !FileManager.default.fileExists(atPath: target) else {
                throw CommandError(.cannotCreate, "\(target) exists")
            }
            let contents = try read(path) { $0 }
            do { try contents.backUp(to: target) } catch let error as DatabaseError {
                throw CommandError(.cannotCreate, text(of: error, writing: target))
            }
        }
        return .success
    }

    /// The text of a backup's error. The database names its own file where the target is concerned.
    private static func text(of error: DatabaseError, writing target: String) -> String {
        switch error {
        case .full: "\(DatabaseError.full(path: target))"
        case .readOnly, .cannotOpen: "\(DatabaseError.cannotOpen(path: target))"
        default: "cannot back up to \(target): \(error)"
        }
    }

    private static func check(_ path: String) throws -> ExitCode {
        var faultCount = 0
        try read(path) { store in
            try store.check { fault in
                faultCount += 1
                try Output.print(SafeText.line(text(ofFault: fault)))
            }
        }
        return faultCount == 0 ? .success : .failure
    }

    /// The text of a fault, without the advice of other commands to check the store.
    static func text(ofFault fault: String) -> String {
        fault.replacing("run 'martlet store check', and ", with: "")
    }

    private static func print(_ record: StoreRecord) throws {
        for line in try StoreLine.lines(of: record) { try Output.print(line) }
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
        do {
            return try body(try StoreContents(path: path))
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
        }
    }
}
