import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool
@testable import MartletToolSupport

@Suite struct DecodeCommandTests {
    private func parse(_ words: String...) throws(UsageError) -> ParsedArguments {
        var parser = ArgumentParser(for: DecodeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    @Test func `options of the input → options of the decoder`() throws {
        let usual = DecodeCommand.options(try parse())
        #expect(usual.format == .auto)
        #expect(usual.sender == nil)
        #expect(usual.ports == [7227])
        let options = DecodeCommand.options(
            try parse("--format", "hex", "--from=server", "--port", "80", "--max-body", "2K", "-"))
        #expect(options.format == .hex)
        #expect(options.sender == .server)
        #expect(options.ports == [80])
        #expect(options.bodyByteCount == 2048)
    }

    @Test func `options of the output → the filter`() throws {
        let filter = DecodeCommand.filter(
            try parse("--connection", "3", "--session", "0", "--type", "data", "--type", "ack"))
        #expect(filter == DecodeFilter(connection: 3, session: .control, types: [.data, .ack]))
        #expect(DecodeCommand.filter(try parse()) == DecodeFilter())
    }

    @Test(
        "invalid option values → errors",
        arguments: [
            ["--format", "pdf"], ["--from", "me"], ["--port", "0"], ["--type", "nothing"], ["--session", "65536"],
            ["--connection", "0"], ["a", "b"],
        ])
    func usage(words: [String]) {
        var parser = ArgumentParser(for: DecodeCommand.spec)
        #expect(throws: UsageError.self) { try parser.parse(words) }
    }
}
