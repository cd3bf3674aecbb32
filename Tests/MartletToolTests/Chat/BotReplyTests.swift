import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct BotReplyTests {
    private func answer(_ line: String, seed: UInt64 = 1) -> String? {
        var random = SeededRandom(seed: seed)
        return BotReply.answer(to: line, time: "12:00:00", using: &random)
    }

    @Test func `commands have replies, other text has none`() {
        #expect(answer("/echo hello  there") == "hello  there")
        #expect(answer("/echo") == "…")
        #expect(answer("/time") == "12:00:00")
        #expect(answer("/help") == BotReply.help)
        for line in ["hello", "", "/", "/dance", "echo hello"] { #expect(answer(line) == nil) }
    }

    @Test func `dice give numbers within their sides`() throws {
        for seed in 0..<200 as Range<UInt64> {
            let one = try #require(answer("/roll", seed: seed).flatMap { Int($0) })
            #expect((1...6).contains(one))
            let sum = try #require(answer("/roll 3d4", seed: seed)?.split(separator: "=").last?.dropFirst())
            #expect((3...12).contains(try #require(Int(sum))))
        }
        #expect(answer("/roll d1") == "1")
    }

    @Test(arguments: ["/roll 0d6", "/roll 101d6", "/roll x", "/roll 2d", "/roll 1d0", "/roll 1d2d3", "/roll -1d6"])
    func `invalid dice → an error message`(line: String) {
        #expect(answer(line)?.hasPrefix("I roll") == true)
    }
}
