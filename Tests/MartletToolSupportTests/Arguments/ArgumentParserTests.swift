import Testing

@testable import MartletToolSupport

@Suite struct ArgumentParserTests {
    private static let room = Option.text("room", short: "r", "NAME", fallback: "lobby", help: "the room")
    private static let count = Option.count("count", short: "n", in: 1...100, help: "how many")
    private static let wait = Option.duration("wait", "MS", in: .milliseconds, help: "how long")
    private static let json = Option.flag("json", short: "j", help: "for machines")

    private func parse(_ words: String..., operand: String? = "FILE") throws(UsageError) -> ParsedArguments {
        let spec = CommandSpec(
            name: "try", summary: "tries", operand: operand,
            options: [Self.room.spec, Self.count.spec, Self.wait.spec, Self.json.spec], exitCodes: []
        ) { _ in .success }
        var parser = ArgumentParser(for: spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    @Test func `a missing option has its default`() throws {
        let arguments = try parse()
        #expect(arguments[Self.room] == "lobby")
        #expect(arguments[Self.count] == nil)
        #expect(!arguments.has(Self.json))
    }

    @Test(arguments: [
        ["--count", "7"], ["--count=7"], ["-n", "7"], ["-n7"], ["-j", "-n", "7"], ["-jn7"], ["--", "file"],
        ["file", "--count=7"],
    ])
    func `all notations of a value are equivalent`(words: [String]) throws {
        var parser = ArgumentParser(
            for: CommandSpec(
                name: "try", summary: "", operand: "FILE", options: [Self.count.spec, Self.json.spec], exitCodes: []
            ) { _ in .success })
        guard case .run(let arguments) = try parser.parse(words) else {
            Issue.record("help was not asked for")
            return
        }
        #expect(arguments[Self.count] == (words.contains("--") ? nil : 7))
        #expect(arguments.operands == words.filter { $0 == "file" })
    }

    @Test func `an empty value is accepted only if the option permits it`() {
        #expect(throws: UsageError(message: "'' is not valid for '--room': the value is a non-empty text")) {
            try parse("--room=")
        }
    }

    @Test(arguments: [
        (["--rom", "x"], "unknown option '--rom'; did you mean '--room'?"),
        (["--quite-another"], "unknown option '--quite-another'"),
        (["-x"], "unknown option '-x'"),
        (["--count"], "'--count' requires a value, N"),
        (["--count", "0"], "'0' is not valid for '--count': the value is a number from 1 to 100"),
        (["--json=1"], "'--json' takes no value"),
        (["--json", "-j"], "'-j' is given twice"),
        (["a", "b"], "unexpected operand 'b'"),
    ])
    func `a command line that violates the table → an error`(words: [String], message: String) {
        var parser = ArgumentParser(
            for: CommandSpec(
                name: "try", summary: "", operand: "FILE",
                options: [Self.room.spec, Self.count.spec, Self.json.spec], exitCodes: []
            ) { _ in .success })
        #expect(throws: UsageError(message: message)) { try parser.parse(words) }
    }

    @Test(
        arguments: [
            (["--name", "a", "--name=b"], nil), (["-na", "-n", "b"], nil),
            (["--name", "a", "--name=a"], "'--name a' is given twice"),
            (["-na", "--name=b", "-n", "a"], "'-n a' is given twice"),
        ] as [([String], String?)])
    func `an option that may be given more than once -> its values in order; the same value twice -> an error`(
        words: [String], message: String?
    ) throws {
        let names = Option.text("name", short: "n", "NAME", help: "names").repeating
        var parser = ArgumentParser(
            for: CommandSpec(name: "try", summary: "", options: [names.spec], exitCodes: []) { _ in .success })
        if let message {
            #expect(throws: UsageError(message: message)) { try parser.parse(words) }
        }
        // The parser has no memory of another command line.
        for _ in 0..<2 where message == nil {
            guard case .run(let arguments) = try parser.parse(words) else {
                Issue.record("help")
                return
            }
            #expect(arguments.all(names) == ["a", "b"])
        }
    }

    @Test func `two operands -> accepted in their order, a third one refused`() throws {
        #expect(try parse("a", "--json", "b", operand: "ACTION NAME").operands == ["a", "b"])
        #expect(throws: UsageError(message: "unexpected operand 'c'")) {
            try parse("a", "b", "c", operand: "ACTION NAME")
        }
    }

    @Test func `an operand of a command without operands is refused`() {
        #expect(throws: UsageError(message: "unexpected operand '-'")) { try parse("-", operand: nil) }
    }

    @Test func `help has precedence over later words`() {
        #expect(throws: UsageError(message: "help")) { try parse("--json", "--help", "--nonsense") }
    }

    @Test(arguments: [("", "", 0), ("abc", "abc", 0), ("rom", "room", 1), ("kitten", "sitting", 3), ("", "ab", 2)])
    func `two words → their edit distance`(first: String, second: String, distance: Int) {
        #expect(editDistance(first, second) == distance)
        #expect(editDistance(second, first) == distance)
    }
}
