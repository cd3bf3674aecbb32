import Foundation
import MartletProtocol
import MartletSQLite
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTool

//
@Suite struct StoreCommandTests {
    private let lobby = RoomName("lobby")!

    private func arguments(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: StoreCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    private func run(_ words: String...) throws -> ExitCode { try StoreCommand.run(arguments(words)) }

    private func entries(_ offsets: ClosedRange<UInt64>) -> [LogEntry] {
        offsets.map {
            LogEntry(
                offset: $0, sender: AccountName("ada")!, device: DeviceID(rawValue: .max), counter: $0,
                acceptedAt: 5, body: EncodedBody([1, 2, 3]))
        }
    }

    private func path(_ directory: String) -> String { "\(directory)/\(StoreSchema.fileName)" }

    /// Fills a store with 300 messages, and returns the lines of its export.
    private func fill(_ directory: String) throws -> [String] {
        let store = try StoreFile(path: path(directory)) { 5 }
        _ = try store.load(lobby)
        _ = try store.append(entries(1...300), to: lobby)
        try store.saveProgress([AccountName("bob")!: AccountProgress(delivered: 3, read: 1)], of: lobby)
        try store.saveRoles([9], of: lobby, creation: RoomCreation(account: AccountName("ada")!, maxRoomCount: 1))
        return try lines(directory)
    }

    private func lines(_ directory: String) throws -> [String] {
        var lines: [String] = []
        try StoreContents(path: path(directory)).forEachRecord { lines += try StoreLine.lines(of: $0) }
        return lines
    }

    private func add(_ lines: [String], to directory: String) throws {
        var rest = lines[...]
        try StoreCommand.add(to: directory, path(directory)) { rest.popFirst() }
    }

    @Test(arguments: [[], ["check"], ["drop", "d"], ["check", "d", "e"], ["backup", "d"]])
    func `a missing or invalid operand -> a usage error`(words: [String]) throws {
        #expect(throws: UsageError.self) { try StoreCommand.run(arguments(words)) }
    }

    @Test func `a backup into a folder that does not exist -> an error that names the target`() throws {
        try withTemporaryFolder { folder in
            _ = try fill(folder)
            let target = "\(folder)/none/copy"
            let text = "\(target) cannot be opened; check that its folder exists and is accessible"
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
            #expect(try lines(copy) == exported)
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

    @Test func `backup, compact and check -> the same contents; an existing file is not replaced`() throws {
        try withTemporaryFolder { folder in
            let exported = try fill(folder)
            let copy = "\(folder)/\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            #expect(try run("backup", folder, path(copy)) == .success)
            #expect(try run("compact", folder) == .success)
            #expect(try lines(folder) == exported && lines(copy) == exported)
            #expect(throws: CommandError(.cannotCreate, "\(path(copy)) exists")) {
                try run("backup", folder, path(copy))
            }
            #expect(try run("check", folder) == .success)
        }
    }

    //
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
