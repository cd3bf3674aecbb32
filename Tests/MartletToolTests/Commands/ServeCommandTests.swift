import Foundation
import MartletLink
import MartletRelaySQLite
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct ServeCommandTests {
    private func check(_ directory: String, _ words: String...) async throws {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        let store = try await SQLiteStore(at: directory)
        do { try await ServeCommand.checkRoles(of: store, arguments) } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    //
    @Test func `a store with roles and no option about them -> a usage error`() async throws {
        let folder = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await check(folder)
        let path = "\(folder)/\(StoreSchema.fileName)"
        try StoreFile(path: path) { 5 }.saveRoles([9], of: RoomName("lobby"), creation: nil)
        await #expect(throws: UsageError.self) { try await check(folder) }
        try await check(folder, "--room-roles")
        try await check(folder, "--ignore-room-roles")
    }

    @Test func `the example of a configuration file → options of serve`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let path = root.appendingPathComponent("Packaging/relay.json").standardized.path
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let given) = try parser.parse([]) else { throw UsageError(message: "help") }
        let arguments = try ConfigurationFile.complete(given, from: path, for: ServeCommand.spec)
        #expect(arguments.values.count == 5)
    }
}
