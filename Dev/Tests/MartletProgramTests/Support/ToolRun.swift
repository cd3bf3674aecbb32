import Foundation
import Martlet
import MartletRelay
import MartletTransport
import Testing

@testable import MartletLab

/// A finished run of the program `martlet`, whose output is a file.
struct ToolRun: Equatable {
    var code: Int32
    /// The lines of standard output.
    var lines: [String]

    init(code: Int32, lines: [String] = []) {
        self.code = code
        self.lines = lines
    }

    /// Runs the program and waits for its end.
    init(_ words: String..., input: String = "") async throws { try await self.init(words, input: input) }

    /// Runs the program and waits for its end.
    init(_ words: [String], input: String) async throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        let (source, target) = (base.appendingPathExtension("in"), base.appendingPathExtension("out"))
        try Data(input.utf8).write(to: source)
        try Data().write(to: target)
        defer {
            try? FileManager.default.removeItem(at: source)
            try? FileManager.default.removeItem(at: target)
        }
        let process = try ChildProcess(
            words, input: try FileHandle(forReadingFrom: source), output: try FileHandle(forWritingTo: target))
        code = await process.exitCode()
        lines = String(decoding: try Data(contentsOf: target), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// Admits every account except `mallory`.
private struct WithoutMallory: ImmediateRoomPolicy {
    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        request.identity.account.text == "mallory" ? .refused : .granted(.all)
    }
}

/// Runs a relay in this process during `body`, whose argument is the address. It admits every account except
/// `mallory`.
func withToolRelay(
    attachments: (any AttachmentStore)? = InMemoryAttachmentStore(), hasRoles: Bool = false,
    _ body: (String) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: 0)
    if hasRoles { configuration.engine.roomRoles = RoomRolesConfiguration() }
    configuration.engine.asksRoomPolicy = true
    let relay = Relay(
        configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: WithoutMallory(),
        attachments: attachments)
    let address = try relay.start()[0]
    do { try await body("martlet://\(address)") } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}

/// Runs the program and checks its exit code.
func expectExit(
    _ code: Int32, _ words: String..., input: String = "", at location: SourceLocation = #_sourceLocation
) async throws {
    try await expectExit(code, words, input: input, at: location)
}

/// Runs the program and checks its exit code.
func expectExit(
    _ code: Int32, _ words: [String], input: String, at location: SourceLocation = #_sourceLocation
) async throws {
    let run = try await ToolRun(words, input: input)
    #expect(run.code == code, "\(words)", sourceLocation: location)
}
