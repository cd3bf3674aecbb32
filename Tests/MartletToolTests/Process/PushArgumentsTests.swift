import Foundation
import MartletRelay
import MartletToolSupport
import MartletToolTestSupport
import Testing

@testable import MartletTool

@Suite struct PushArgumentsTests {
    private func parse(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    private func message(_ words: String...) throws -> String? {
        do {
            _ = try PushArguments.webhook(parse(words))
            return nil
        } catch let error as UsageError {
            return error.message
        }
    }

    @Test func `no options -> no webhook; an address -> a webhook with the delay of the option`() throws {
        #expect(try PushArguments.webhook(parse([])) == nil)
        let address = ["--push-webhook", "https://push.example.org/"]
        let arguments = try parse(address + ["--push-delay", "3s", "--push-content"])
        #expect(try PushArguments.webhook(arguments) != nil)
        var configuration = try Relay.Configuration(port: 0)
        PushArguments.apply(arguments, to: &configuration)
        #expect(configuration.engine.undeliveredDelay == .seconds(3))
        PushArguments.apply(try parse([]), to: &configuration)
        #expect(configuration.engine.undeliveredDelay == .seconds(3))
    }

    //
    @Test func `an address that is not valid, or http to another host → a usage error that says so`() throws {
        #expect(
            try message("--push-webhook", "push.example.org")
                == "'--push-webhook': \"push.example.org\" is not an address of the form https://host/path")
        #expect(
            try message("--push-webhook", "http://push.example.org/")
                == "'--push-webhook': push.example.org requires https: http is for loopback addresses only")
        #expect(try message("--push-webhook", "http://localhost:8080/") == nil)
    }

    @Test func `another option without an address → a usage error`() throws {
        #expect(try message("--push-secret", "/etc/secret") == "'--push-secret' requires '--push-webhook'")
        #expect(try message("--push-delay", "3") == "'--push-delay' requires '--push-webhook'")
        #expect(try message("--push-content") == "'--push-content' requires '--push-webhook'")
        #expect(throws: UsageError.self) { try parse(["--push-delay", "0"]) }
    }

    //
    @Test func `the secret is the first line of its file; a short one or a missing file → an error`() throws {
        let path = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let words = ["--push-webhook", "https://push.example.org/", "--push-secret", path]
        #expect(throws: CommandError.self) { try PushArguments.webhook(parse(words)) }
        try Data("0123456789abcdef\r\nmore\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try PushArguments.webhook(parse(words)) != nil)
        try Data("0123456789abcde\r\nmore\n".utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: CommandError.self) { try PushArguments.webhook(parse(words)) }
        #expect(error.map { "\($0)" }?.contains("the secret has fewer than 16 bytes") == true)
    }
}
