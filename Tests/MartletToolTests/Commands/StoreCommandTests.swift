import Foundation
import MartletDatabase
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTool

// R-71
@Suite struct StoreCommandTests {
    private let lobby = RoomName("lobby")

    private func arguments(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: StoreCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    private func run(_ words: String...) throws -> ExitCode { try StoreCommand.run(arguments(words)) }

    private func entries(_ offsets: ClosedRange<UInt64>) -> [LogEntry] {
        offsets.map {
            LogEntry(
                offset: $0, sender: AccountName("ada"), device: DeviceID(rawValue: .max), counter: $0,
                acceptedAt: 5, body: EncodedBody([1, 2, 3]))
        }
    }

    private func path(_ directory: String) -> String { "\(directory)/\(StoreSchema.fileName)" }

    /// Fills a store with 300 messages, and returns the lines of its export.
    private func fill(_ directory: String) throws -> [String] {
        let store = try StoreFile(path: path(directory)) { 5 }
        _ = try store.load(lobby)
        _ = try store.append(entries(1...300), to: lobby)
        try store.saveProgress([AccountName("bob"): AccountProgress(delivered: 3, read: 1)], of: lobby)
        try store.saveRoles(
            RoomRoles().encoded(), of: lobby, creation: RoomCreation(account: AccountName("ada"), maxRoomCount: 1))
        return try lines(directory)
    }

    private func lines(_ directory: String) throws -> [String] {
        var lines: [String] = []
        try StoreContents(path: path(directory)).forEachRecord { lines += StoreLine.lines(of: $0) }
        return lines
    }

    private func add(_ lines: [String], to directory: String) throws {
        var rest = lines[...]
        try StoreCommand.add(to: directory, path(directory)) { rest.popFirst() }
    }

    @Test(arguments: [
        [], ["check"], ["drop", "d"], ["check", "d", "e"], ["backup", "d"], ["restore", "d"],
        ["check", "postgres://h/d"],
    ])
    func `a missing or invalid operand -> a usage error`(words: [String]) throws {
        #expect(throws: UsageError.self) { try StoreCommand.run(arguments(words)) }
    }

    @Test func `a backup into a folder that does not exist -> an error that names the target`() throws {
        try withTemporaryFolder { folder in
            _ = try fill(folder)
            let target = "\(folder)/none/copy"
            let text = "cannot back up to \(target): mkdir: No such file or directory"
            #expect(throws: CommandError(.cannotCreate, text)) { try run("backup", folder, target) }
        }
    }

    @Test func `the fault of a damaged room -> without the advice to check the store`() {
        let fault = StoreCommand.text(ofFault: "\(StoreError.damaged(lobby, offset: 7))")
        #expect(fault == "room lobby is damaged from offset 7 on; restore a backup")
    }

    @Test func `exported lines -> a store with the same export`() throws {
        try withTemporaryFolder { folder in
            let exported = try fill(folder)
            #expect(exported.count == 1 + 300 + 1 + 1 + 1)
            let copy = "\(folder)/copy"
            try add(exported, to: copy)
            // The log of an imported room is a branch.
            #expect(try lines(copy).count == exported.count + 1)
            #expect(try lines(copy).filter { !$0.hasPrefix(#"{"branch""#) }.dropFirst() == exported.dropFirst())
            #expect(try run("check", copy) == .success)
        }
    }

    @Test func `a line that is not valid, or a room that exists -> an error with its number`() throws {
        try withTemporaryFolder { folder in
            let exported = try fill(folder)
            #expect(throws: CommandError(.dataError, "line 3: not a valid line of an exported store")) {
                try add(Array(exported.prefix(2)) + ["{}"], to: "\(folder)/copy")
            }
            #expect(try lines("\(folder)/copy").isEmpty)
            #expect(throws: CommandError.self) { try add(exported, to: folder) }
            #expect(try lines(folder) == exported)
        }
    }

    @Test func `lines that no export has -> an error with their number, and nothing is imported`() throws {
        try withTemporaryFolder { folder in
            let exported = try fill(folder)
            let (room, message) = (exported[0], exported[1])
            let device = try #require(exported.first { $0.hasPrefix(#"{"device""#) })
            let roles = try #require(exported.first { $0.hasPrefix(#"{"roles""#) })
            let joined = room.dropLast() + "," + message.dropFirst()
            let cases: [[String]] = [
                [message], [device], [String(joined)], [roles, roles],
                [room.replacing(#""usedAt":5"#, with: #""usedAt":9223372036854775808"#)],
                [room, message.replacing(#""acceptedAt":5"#, with: #""acceptedAt":9223372036854775808"#)],
                [room, message, device.replacing(#""watermark":300"#, with: #""watermark":0"#)],
                [roles.replacing(#""creator":"ada""#, with: #""creator":"a\nb""#)],
                [#"{"roles":{"room":"x","roles":"AQID"}}"#], [#"{"roles":{"room":"x","roles":""}}"#],
            ]
            for (number, lines) in cases.enumerated() {
                let copy = "\(folder)/copy\(number)"
                do {
                    try add(lines, to: copy)
                    Issue.record("case \(number) is imported")
                } catch let error as CommandError {
                    #expect(error.code == .dataError, "case \(number)")
                }
                #expect(try self.lines(copy).count == (lines == [roles, roles] ? 1 : 0), "case \(number)")
            }
        }
    }

    // R-77
    @Test func `check of roles that a relay refuses -> a fault; reset-roles gives lost roles up`() throws {
        try withTemporaryFolder { folder in
            let store = try StoreFile(path: path(folder)) { 5 }
            try store.saveRoles([9], of: lobby, creation: nil)
            #expect(try run("check", folder) == .failure)
            try store.saveRoles([0], of: lobby, creation: nil)
            #expect(try run("check", folder) == .failure)
            #expect(try run("reset-roles", folder) == .success)
            #expect(try run("check", folder) == .success)
            #expect(try lines(folder).isEmpty)
        }
    }

    @Test func `backup, compact and check -> the same contents; an existing file is not replaced`() throws {
        try withTemporaryFolder { folder in
            let exported = try fill(folder)
            let copy = "\(folder)/\(UUID().uuidString)"
            #expect(try run("backup", folder, copy) == .success)
            #expect(try run("compact", folder) == .success)
            #expect(try lines(folder) == exported && lines(copy) == exported)
            #expect(throws: CommandError(.cannotCreate, "\(copy) exists")) { try run("backup", folder, copy) }
            #expect(try run("check", folder) == .success)
        }
    }

    // R-69
    @Test func `a directory in use -> import and compact are refused, check is not`() throws {
        try withTemporaryFolder { folder in
            _ = try fill(folder)
            let lock = try SQLiteStore.lock(folder)
            let refusal = CommandError(.cannotCreate, "\(DatabaseError.locked(path: folder))")
            #expect(throws: refusal) { try run("compact", folder) }
            #expect(throws: refusal) { try add([], to: folder) }
            #expect(try run("check", folder) == .success)
            withExtendedLifetime(lock) {}
        }
    }

    @Test func `a directory without a store -> noInput`() throws {
        try withTemporaryFolder { folder in
            for action in ["check", "export"] {
                #expect(throws: CommandError(.noInput, "\(DatabaseError.cannotOpen(path: path(folder)))")) {
                    try run(action, folder)
                }
            }
        }
    }
}
