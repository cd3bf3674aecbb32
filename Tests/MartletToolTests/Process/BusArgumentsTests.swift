import MartletRelay
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct BusArgumentsTests {
    private func parse(_ words: [String]) throws -> ParsedArguments {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    private func message(isShared: Bool = true, _ words: String...) throws -> String? {
        do {
            try BusArguments.checkUsage(parse(words), isShared: isShared)
            return nil
        } catch let error as UsageError {
            return error.message
        }
    }

    @Test func `options of a bus -> accepted with a shared store, and a usage error otherwise`() throws {
        #expect(try message() == nil && message(isShared: false) == nil)
        for name in ["postgres", "none", "nats://relay@localhost", "tls://a:1,tls://b"] {
            #expect(try message("--bus", name) == nil)
            #expect(try message(isShared: false, "--bus", name) == "'--bus' requires '--shared'")
        }
        #expect(try message("--bus", "nats://h", "--bus-subject", "chat.bus", "--bus-trust", "ca.pem") == nil)
        #expect(try message("--bus", "redis://h")?.hasPrefix("'--bus': \"redis://h\" is not postgres") == true)
        #expect(try message("--bus", "nats://h", "--bus-subject", "a.*")?.hasPrefix("'--bus-subject'") == true)
        #expect(try message("--bus-subject", "chat")?.hasPrefix("'--bus-subject' requires the URL") == true)
    }

    @Test func `a store that is not shared -> no bus`() async throws {
        #expect(try await BusArguments.make(parse([]), InMemoryStore()) { _ in } == nil)
        #expect(try await BusArguments.make(parse([]), nil) { _ in } == nil)
    }
}
