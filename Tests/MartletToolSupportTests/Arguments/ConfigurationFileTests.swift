import Foundation
import Testing

@testable import MartletToolSupport

@Suite struct ConfigurationFileTests {
    private static let room = Option.text("room", "NAME", fallback: "lobby", help: "the room")
    private static let count = Option.count("count", in: 0...100, help: "how many").changing(.atReload)
    private static let wait = Option.duration("wait", "MS", in: .milliseconds, help: "how long")
    private static let json = Option.flag("json", help: "for machines").changing(.atReload)
    private static let peers = Option.text("peer", "NAME", help: "the peers").repeating
    private static let tokens = Option.text("tokens", "FILE", help: "the tokens").changing(.valueAtReload)
    private static let config = Option.text("config", "FILE", help: "the file").changing(.notInFile)

    private static let command = CommandSpec(
        name: "try", summary: "tries",
        options: [room.spec, count.spec, wait.spec, json.spec, peers.spec, tokens.spec, config.spec], exitCodes: []
    ) { _ in .success }

    private func read(_ text: String, _ words: String...) throws -> ParsedArguments {
        let path = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        var parser = ArgumentParser(for: Self.command)
        guard case .run(let given) = try parser.parse(words) else { throw UsageError(message: "help") }
        do throws(CommandError) {
            return try ConfigurationFile.complete(given, from: path, for: Self.command)
        } catch {
            #expect(error.message.hasPrefix("\(path): "))
            throw CommandError(error.code, String(error.message.dropFirst(path.count + 2)))
        }
    }

    @Test func `members → the values of the options with their names`() throws {
        let text = #"{"room": "a", "count": 0, "wait": "1.5s", "json": true, "peer": ["b", "c"]}"#
        let arguments = try read(text)
        #expect(arguments[Self.room] == "a")
        #expect(arguments[Self.count] == 0)
        #expect(arguments[Self.wait] == .milliseconds(1500))
        #expect(arguments.has(Self.json))
        #expect(arguments.all(Self.peers) == ["b", "c"])
        let other = try read(#"{"wait": 0.5, "json": false, "peer": "b", "count": "7"}"#)
        #expect(other[Self.wait] == .microseconds(500))
        #expect(!other.has(Self.json))
        #expect(other.all(Self.peers) == ["b"])
        #expect(other[Self.count] == 7)
        #expect(other[Self.room] == "lobby")
    }

    @Test func `an option of the command line → replaces all values of the member`() throws {
        let arguments = try read(#"{"room": "a", "count": 1, "peer": ["b", "c"]}"#, "--room", "d", "--peer", "e")
        #expect(arguments[Self.room] == "d")
        #expect(arguments.all(Self.peers) == ["e"])
        #expect(arguments[Self.count] == 1)
    }

    @Test(arguments: [
        ("", "line 1: unexpected end at offset 0"),
        ("{\n\"room\": x}", "line 2: unexpected byte at offset 10"),
        (#"{"peer": ["b", "c", "b"]}"#, #""peer": the value "b" is given twice"#),
        (#"{"room": "a", "room": "b"}"#, #""room": line 1: duplicate name at offset 14"#),
        ("[]", "the file is not a JSON object"),
        (#"{"rom": "a"}"#, #""rom": unknown member; did you mean "room"?"#),
        (#"{"something": "a"}"#, #""something": unknown member"#),
        (#"{"config": "a"}"#, #""config": an option of the command line only"#),
        (#"{"json": "true"}"#, #""json": the value is true or false"#),
        (#"{"room": true}"#, #""room": the value is a non-empty text"#),
        (#"{"room": ["a"]}"#, #""room": the value is a non-empty text"#),
        (#"{"room": null}"#, #""room": the value is a non-empty text"#),
        (#"{"count": 101}"#, #""count": the value is a number from 0 to 100"#),
        (#"{"count": 1.5}"#, #""count": the value is a number from 0 to 100"#),
        (#"{"peer": ["b", false]}"#, #""peer": the value is a non-empty text"#),
    ])
    func `an invalid file → an error with the member and the reason`(text: String, message: String) {
        #expect(throws: CommandError(.noInput, message)) { try read(text) }
    }

    @Test func `a missing file → an error that names it`() {
        #expect(throws: CommandError(.noInput, "cannot read the configuration in /none/a: No such file or directory")) {
            try ConfigurationFile.complete(ParsedArguments(), from: "/none/a", for: Self.command)
        }
    }

    @Test func `changed members → those of a reload are applied, and the others named`() throws {
        let current = try read(#"{"room": "a", "count": 1, "tokens": "t", "peer": ["b", "c"]}"#)
        let next = try read(#"{"room": "b", "json": true, "tokens": "u", "peer": ["b", "c"]}"#)
        let (arguments, atStart) = Self.command.reloading(next, over: current)
        #expect(atStart == ["room"])
        #expect(arguments[Self.room] == "a")
        #expect(arguments[Self.count] == nil)
        #expect(arguments.has(Self.json))
        #expect(arguments[Self.tokens] == "u")
        #expect(Self.command.reloading(try read("{}"), over: current).atStart == ["room", "peer", "tokens"])
        #expect(Self.command.reloading(current, over: try read("{}")).atStart == ["room", "peer", "tokens"])
        #expect(Self.command.reloading(current, over: current).atStart == [])
    }
}
