import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct ChatCommandTests {
    @Test(arguments: [
        ("hello", ChatCommand.say("hello")), ("//etc", .say("/etc")), ("/who", .who), ("/quit now", .quit),
        ("/?", .help),
        ("/retry", .retry), ("", .nothing), ("   ", .nothing), ("/", .unknown("")), ("/dance x", .unknown("dance")),
        (" /who", .say(" /who")),
    ])
    func `a line is parsed to its command`(line: String, command: ChatCommand) {
        #expect(ChatCommand(line) == command)
    }
}
