import CMartletSystem
import Foundation
import MartletAuthentication
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct UserCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func run(_ words: String...) async throws {
        var parser = ArgumentParser(for: UserCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        _ = try await UserCommand.run(arguments)
    }

    private func add(_ name: String, _ password: String) async throws {
        let line = "\(password)\nanother line\n"
        if (try? String(contentsOfFile: path("password"), encoding: .utf8)) != line {
            try line.write(toFile: path("password"), atomically: true, encoding: .utf8)
        }
        try await run("add", name, "--file", path("users"), "--password-file", path("password"))
    }

    private func record(_ password: String, _ name: String, in file: PasswordFile) throws -> Bool {
        let record = try #require(file.record(of: name))
        return try SCRAMRecord(password: password, salt: record.salt, iterations: record.iterations) == record
    }

    @Test func `add -> a file that only its owner can read, with a secret, the account and its password`() async throws
    {
        try await add("ada", "open sesame")
        let attributes = try FileManager.default.attributesOfItem(atPath: path("users"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let file = try PasswordFile.read(path("users"))
        #expect(file.names == ["ada"])
        #expect(file.unknownUserSecret?.count == 32)
        #expect(try record("open sesame", "ada", in: file))
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `a name that is not in normal form C, or is equivalent to another name -> a warning`() {
        func warning(_ name: AccountName, _ names: String...) -> Bool {
            UserCommand.warning(about: name, among: names) != nil
        }
        #expect(!warning("caf\u{E9}") && !warning("caf\u{E9}", "caf\u{E9}", "ada"))
        #expect(warning("cafe\u{301}"))
        #expect(warning("caf\u{E9}", "ada", "cafe\u{301}"))
    }

    @Test func `a change of a file that a group can read -> the same owner, group and permissions`() async throws {
        try await add("ada", "one")
        let manager = FileManager.default
        // Only the superuser can give a file to another user.
        let (owner, group) = geteuid() == 0 ? (12, 34) : (geteuid(), getegid())
        try #require(unsafe chown(path("users"), owner, group) == 0 && chmod(path("users"), 0o640) == 0)
        try await add("bob", "two")
        let attributes = try manager.attributesOfItem(atPath: path("users"))
        #expect(attributes[.posixPermissions] as? Int == 0o640)
        #expect(attributes[.ownerAccountID] as? Int == Int(owner))
        #expect(attributes[.groupOwnerAccountID] as? Int == Int(group))
        #expect(try PasswordFile.read(path("users")).names == ["ada", "bob"])
        try? manager.removeItem(at: folder)
    }

    @Test func `add, add again and remove -> another password, and no account`() async throws {
        try await add("ada", "one")
        let secret = try PasswordFile.read(path("users")).unknownUserSecret
        try await add("bob", "two")
        try await add("ada", "three")
        var file = try PasswordFile.read(path("users"))
        #expect(file.names == ["ada", "bob"])
        #expect(try record("three", "ada", in: file))
        #expect(file.unknownUserSecret == secret)
        try await run("list", "--file", path("users"))
        try await run("remove", "ada", "--file", path("users"))
        file = try PasswordFile.read(path("users"))
        #expect(file.names == ["bob"])
        await #expect(throws: CommandError(.failure, "\(path("users")) has no account ada")) {
            try await run("remove", "ada", "--file", path("users"))
        }
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `accounts that are added to a file -> its number of iterations, and a salt for each`() async throws {
        var file = PasswordFile()
        try file.add("ada", SCRAMRecord(password: "one", salt: [UInt8](repeating: 1, count: 16), iterations: 4096))
        try file.write(path("users"))
        for name in ["bob", "eve"] { try await add(name, "two") }
        file = try PasswordFile.read(path("users"))
        let bob = try #require(file.record(of: "bob"))
        let eve = try #require(file.record(of: "eve"))
        #expect(bob.iterations == 4096 && eve.iterations == 4096)
        #expect(bob.salt != eve.salt)
        try? FileManager.default.removeItem(at: folder)
    }

    @Test(arguments: [
        [], ["add"], ["add", "ada"], ["add", " ada", "--file", "f"], ["drop", "ada", "--file", "f"],
        ["list", "ada", "--file", "f"], ["remove", "--file", "f"], ["add", "#x", "--file", "f"],
    ])
    func `a missing or invalid action, name or file -> a usage error`(words: [String]) async throws {
        var parser = ArgumentParser(for: UserCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        await #expect(throws: UsageError.self) { try await UserCommand.run(arguments) }
    }

    @Test(arguments: ["", "a\tb", String(repeating: "x", count: 1025)])
    func `a password that SCRAM does not accept -> an error, and no file`(password: String) async throws {
        await #expect(throws: CommandError(.dataError, "a password has 1 to 1024 bytes and no control characters")) {
            try await add("ada", password)
        }
        #expect(!FileManager.default.fileExists(atPath: path("users")))
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `twelve changes at once -> none of them is lost`() async throws {
        try await add("evil", "one")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...11 {
                group.addTask { try await add("user\(number)", "one") }
            }
            group.addTask { try await run("remove", "evil", "--file", path("users")) }
            try await group.waitForAll()
        }
        #expect(try Set(PasswordFile.read(path("users")).names) == Set((1...11).map { "user\($0)" }))
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `a folder that another process has locked for too long -> an error, and no change`() async throws {
        try await add("ada", "one")
        let lock = try await PasswordFile.lockFolder(of: path("users"), waiting: .zero)
        await #expect(throws: CommandError(.cannotCreate, "another process changes \(path("users"))")) {
            try await PasswordFile.change(path("users"), waiting: .zero) { file throws(CommandError) in
                file = PasswordFile()
            }
        }
        close(lock)
        #expect(try PasswordFile.read(path("users")).names == ["ada"])
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `a change through symbolic links -> the file at their end is changed, and the links stay`() async throws
    {
        try await add("ada", "one")
        let manager = FileManager.default
        try manager.createSymbolicLink(atPath: path("link"), withDestinationPath: "users")
        try manager.createSymbolicLink(atPath: path("second"), withDestinationPath: path("link"))
        try await add("bob", "two")
        try await run("remove", "ada", "--file", path("second"))
        #expect(try PasswordFile.read(path("users")).names == ["bob"])
        #expect(try manager.destinationOfSymbolicLink(atPath: path("link")) == "users")
        // A link without a target makes the target.
        try manager.createSymbolicLink(atPath: path("third"), withDestinationPath: "new")
        try await run("add", "eve", "--file", path("third"), "--password-file", path("password"))
        #expect(try PasswordFile.read(path("new")).names == ["eve"])
        try? manager.removeItem(at: folder)
    }

    @Test func `a folder in place of a file -> the text of the system`() async throws {
        let text = "cannot read the passwords in \(folder.path): Is a directory"
        await #expect(throws: CommandError(.noInput, text)) { try await run("list", "--file", folder.path) }
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func `a file that is no password file -> an error with its line, and no change`() async throws {
        try "# users\nada secret\n".write(toFile: path("users"), atomically: true, encoding: .utf8)
        await #expect(throws: CommandError(.noInput, "\(path("users")):2: the record is not valid")) {
            try await add("bob", "one")
        }
        #expect(try String(contentsOfFile: path("users"), encoding: .utf8) == "# users\nada secret\n")
        try? FileManager.default.removeItem(at: folder)
    }

    #if os(Linux)
        @Test func `a change of a file keeps its access control list`() throws {
            let path = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            try Data().write(to: URL(fileURLWithPath: path))
            // Version 2; the owner reads and writes, user 1234 reads, the group and others have no permission.
            let entries: [(tag: UInt16, permissions: UInt16, user: UInt32)] = [
                (1, 6, .max), (2, 4, 1234), (4, 0, .max), (16, 4, .max), (32, 0, .max),
            ]
            var list: [UInt8] = [2, 0, 0, 0]
            for entry in entries {
                for number in [UInt32(entry.tag) | UInt32(entry.permissions) << 16, entry.user] {
                    list += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
                }
            }
            let name = "system.posix_acl_access"
            // Some file systems have no such lists.
            let descriptor = unsafe open(path, O_RDWR)
            defer { close(descriptor) }
            guard unsafe martlet_file_set_attribute(descriptor, name, list, list.count) == 0 else { return }
            try PasswordFile().write(path)
            var kept = [UInt8](repeating: 0, count: 256)
            let count = unsafe martlet_file_attribute(path, name, &kept, kept.count)
            #expect(Array(kept.prefix(Int(max(count, 0)))) == list)
        }
    #endif
}
