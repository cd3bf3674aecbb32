import Testing

@testable import MartletToolSupport

/// Scripts/test-completions runs the scripts in the shells.
@Suite struct CompletionsTests {
    private enum Level: String, CaseIterable {
        case low
        case high
    }

    private static let command = CommandSpec(
        name: "send", summary: "Send an account's lines: all.", operand: "FILE|TEXT DIR",
        options: [
            Option.flag("json", short: "j", help: "print [JSON]").spec,
            Option<Level>.choice("level", fallback: .low, help: "how loud").spec,
            Option.text("token", short: "t", "FILE", help: "the token").repeating.spec,
            Option.text("name", "NAME", help: "the name").spec,
        ], exitCodes: []
    ) { _ in .success }

    private func lines(_ shell: Completions) -> [Substring] {
        let program = CommandLineProgram(name: "martlet", summary: "Messages.", commands: [Self.command])
        return shell.text(for: program).split(separator: "\n").map { $0.drop { $0 == " " } }
    }

    @Test func `bash → a case for each option with a value, and one for the names`() {
        let lines = lines(.bash)
        #expect(lines.contains("send:--level) __martlet_words -W 'low high'; return ;;"))
        #expect(lines.contains("send:--token | send:-t) __martlet_files -f; return ;;"))
        #expect(lines.contains("send:--name) return ;;"))
        #expect(
            lines.contains(
                "send) if [[ $current == -* ]]; then __martlet_words -W '--json --level --token --name --help'; "
                    + "else __martlet_files -d; fi ;;"))
    }

    @Test func `zsh → the options with their help, and special characters escaped`() {
        let lines = lines(.zsh)
        #expect(lines.contains("'send:Send an account'\\''s lines: all.'"))
        #expect(lines.contains(#"'(-j --json)'{-j,--json}'[print \[JSON\]]' \"#))
        #expect(lines.contains(#"'--level=[how loud \[low\]]:low|high:(low high)' \"#))
        #expect(lines.contains(#"'*--token=[the token]:FILE:_files' '*-t+[the token]:FILE:_files' \"#))
        #expect(lines.contains("'--name=[the name]:NAME: ' \\"))
        #expect(lines.contains("'*:operand:_directories'"))
    }

    @Test func `fish → a line for each command and option`() {
        let lines = lines(.fish)
        let condition = "complete -c martlet -n '__fish_seen_subcommand_from send'"
        #expect(
            lines.contains(
                #"complete -c martlet -n __fish_use_subcommand -a send -d 'Send an account\'s lines: all.'"#))
        #expect(lines.contains("\(condition) -s j -l json -d 'print [JSON]'"))
        #expect(lines.contains("\(condition) -l level -x -a 'low high' -d 'how loud [low]'"))
        #expect(lines.contains("\(condition) -s t -l token -r -F -d 'the token'"))
        #expect(lines.contains("\(condition) -l name -x -d 'the name'"))
        #expect(lines.contains("\(condition) -a '(__fish_complete_directories)'"))
    }
}
