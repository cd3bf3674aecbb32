import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct ChatCommandTests {
    @Test(arguments: [
        ("hello", ChatCommand.send("hello")), ("//etc", .send("/etc")), ("/who", .who), ("/quit now", .quit),
        ("/?", .help),
        ("/retry", .retry), ("", .nothing), ("   ", .nothing), ("/", .unknown("")), ("/dance x", .unknown("dance")),
        (" /who", .send(" /who")),
    ])
    func `a line is parsed to its command`(line: String, command: ChatCommand) {
        #expect(ChatCommand(line) == command)
    }
}
