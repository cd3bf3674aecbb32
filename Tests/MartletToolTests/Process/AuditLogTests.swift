import Foundation
import MartletLink
import MartletRelay
import MartletToolSupport
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct AuditLogTests {
    private let peer = SocketAddress("192.0.2.1:4711")

    private func line(_ event: RelayEvent) throws -> String {
        AuditLog.line(.init(event: .relay(try #require(AuditRecord(event))), time: 1_700_000_000_123))
    }

    @Test func `records of a relay → an object with time, event and the known fields`() throws {
        let ada = AccountName("ada")
        let lobby = RoomName("lobby")
        let key = DeviceKey(account: ada, device: DeviceID(rawValue: 0xAB))
        let link = LinkID(rawValue: 3)
        let start = #"{"time":"2023-11-14T22:13:20.123Z","event":"#
        #expect(
            try line(.note(.link(.linked(key, link)), peer: peer))
                == start + #""signedIn","account":"ada","device":"ab","peer":"192.0.2.1:4711"}"#)
        #expect(
            try line(.note(.link(.resumed(key, link, epoch: Epoch(rawValue: 2))), peer: peer))
                == start + #""resumed","account":"ada","device":"ab","peer":"192.0.2.1:4711"}"#)
        #expect(
            try line(.note(.link(.refused(ada, .unauthenticated)), peer: peer))
                == start + #""refused","account":"ada","peer":"192.0.2.1:4711","code":"unauthenticated"}"#)
        let cause = "the token is for another audience"
        #expect(
            try line(.note(.link(.refused(ada, .unauthenticated, cause: cause)), peer: nil))
                == start + #""refused","account":"ada","code":"unauthenticated","reason":"\#(cause)"}"#)
        #expect(
            try line(.note(.roomRefused(key, lobby), peer: nil))
                == start + #""roomRefused","account":"ada","device":"ab","room":"lobby","code":"roomForbidden"}"#)
        #expect(
            try line(.note(.roomCreated(key, lobby, .none), peer: nil))
                == start + #""roomCreated","account":"ada","device":"ab","room":"lobby"}"#)
        let record = RoomOperationRecord(.setRole(.owner, of: ada), by: key, in: lobby, .forbidden)
        let fields = #""operation":"room.role","target":"ada","value":"owner","code":"forbidden"}"#
        #expect(
            try line(.note(.roomOperation(record), peer: nil))
                == start + #""roomOperation","account":"ada","device":"ab","room":"lobby","# + fields)
        #expect(AuditRecord(.note(.rolesInvalid(lobby, .tooLong), peer: nil)) == nil)
        let error = TLSError.selfSigned(subject: "CN=ada")
        let reason = #""reason":"the certificate of CN=ada is self-signed"}"#
        #expect(
            try line(.tlsFailed(error, peer: peer))
                == start + #""certificateRefused","peer":"192.0.2.1:4711","code":"unauthenticated","# + reason)
        #expect(try line(.revoked(ada)) == start + #""revoked","account":"ada"}"#)
        #expect(
            try line(.roomDecisionsRevoked(of: nil, in: lobby)) == start + #""roomDecisionsRevoked","room":"lobby"}"#)
    }

    // Specs/hostile.md row 65
    @Test func `row 65, refusals of one account → one line at once, and one with their number at the end`()
        async throws
    {
        let ada = AccountName("ada")
        let refusal = try #require(AuditRecord(.note(.link(.refused(ada, .unauthenticated)), peer: peer)))
        let sign = try #require(AuditRecord(.revoked(ada)))
        try await withFolder { folder in
            let file = folder.appendingPathComponent("audit")
            let log = try AuditLog(path: file.path)
            for _ in 0..<5 { log.add(.relay(refusal)) }
            log.add(.relay(sign))
            await log.finish()
            let tails = try lines(file).map { $0.drop { $0 != "," } }
            let refused = #","event":"refused","account":"ada","peer":"192.0.2.1:4711","code":"unauthenticated""#
            #expect(
                tails == [
                    refused[...] + "}", #","event":"revoked","account":"ada"}"#, refused[...] + #","count":4}"#,
                ])
        }
    }

    @Test func `records of the tool → an object with their fields`() throws {
        let address = try #require(SocketAddress("[::1]:7227"))
        let start = #"{"time":"1970-01-01T00:00:00.000Z","event":"#
        let events: [AuditLog.Event] = [
            .started([address]), .reloaded(nil), .reloaded("no file"), .ended, .dropped(7),
        ]
        #expect(
            events.map { AuditLog.line(.init(event: $0, time: 0)) } == [
                start + #""started","addresses":["[::1]:7227"]}"#, start + #""reloaded"}"#,
                start + #""reloadFailed","error":"no file"}"#, start + #""ended"}"#,
                start + #""recordsDropped","count":7}"#,
            ])
    }

    @Test func `a file that is moved away → the next records are in a new file after reopen`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("audit")
            let moved = folder.appendingPathComponent("audit.1")
            // The last record was cut off by the end of its process.
            try Data("before".utf8).write(to: file)
            let log = try AuditLog(path: file.path)
            log.add(.reloaded(nil))
            while !Task.isCancelled, try lines(file).count < 2 { await Task.yield() }
            try FileManager.default.moveItem(at: file, to: moved)
            try log.reopen()
            log.add(.ended)
            await log.finish()
            #expect(try lines(moved).map { $0.contains("reloaded") } == [false, true])
            #expect(try lines(file).map { $0.contains("ended") } == [true])
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func `a change that fails before a reopen → its error, and the earlier file continues`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("audit")
            let moved = folder.appendingPathComponent("audit.1")
            let log = try AuditLog(path: file.path)
            try FileManager.default.moveItem(at: file, to: moved)
            #expect(throws: CancellationError.self) { try log.reopen { throw CancellationError() } }
            log.add(.ended)
            await log.finish()
            #expect(try lines(moved).map { $0.contains("ended") } == [true])
        }
    }

    @Test func `a check of a folder, a file in a missing folder → an error; of a new file → no error and no file`()
        async throws
    {
        try await withFolder { folder in
            #expect(throws: CommandError.self) { try AuditLog.check(path: folder.path) }
            #expect(throws: CommandError.self) { try AuditLog.check(path: "\(folder.path)/none/audit") }
            try AuditLog.check(path: "\(folder.path)/audit")
            #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/audit"))
        }
    }

    @Test func `a device without space -> the losses are reported once, and the rest at the end`() async throws {
        let losses = Guarded<[Int]>([])
        let log = try AuditLog(path: "/dev/full") { count in losses.withLock { $0.append(count) } }
        for _ in 1...3 { log.add(.ended) }
        await log.finish()
        #expect(losses.withLock { $0 } == [1, 2])
    }

    @Test func `a named pipe that no process reads -> an error, at the start and after reopen`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("audit")
            let log = try AuditLog(path: file.path)
            try FileManager.default.removeItem(at: file)
            try #require(unsafe mkfifo(file.path, 0o600) == 0)
            let error = CommandError(.cannotCreate, "cannot open \(file.path): no process reads from it")
            #expect(throws: error) { try AuditLog(path: file.path) }
            #expect(throws: error) { try log.reopen() }
            await log.finish()
        }
    }

    @Test func `a path that cannot be opened → an error, and after reopen the earlier file continues`() async throws {
        #expect(throws: CommandError.self) { try AuditLog(path: "/nonexistent/audit") }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("audit")
            let moved = folder.appendingPathComponent("audit.1")
            let log = try AuditLog(path: file.path)
            try FileManager.default.moveItem(at: file, to: moved)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            #expect(throws: CommandError.self) { try log.reopen() }
            log.add(.ended)
            await log.finish()
            #expect(try lines(moved).map { $0.contains("ended") } == [true])
        }
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func lines(_ file: URL) throws -> [Substring] {
        String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
    }
}
