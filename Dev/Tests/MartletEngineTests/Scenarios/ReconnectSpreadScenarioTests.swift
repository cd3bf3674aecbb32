import MartletWire
import Testing

@testable import MartletLink

@Suite struct ReconnectSpreadScenarioTests {
    // C-92
    @Test func `welcome and pong name the spread of the current number of clients`() throws {
        let stage = RelayStage()
        let first = try #require(stage.connect())
        // One arrival counts for itself and for twelve more.
        #expect(try #require(first.greet("alice")).reconnectSpread == .milliseconds(16))
        for number in 1...39 { _ = stage.member("member-\(number)") }
        first.say(Ping(nonce: 1))
        #expect(first.log.last(Pong.self)?.reconnectSpread == .milliseconds(1024))
        stage.run(for: .seconds(2))
        first.say(Ping(nonce: 2))
        #expect(first.log.last(Pong.self)?.reconnectSpread == .milliseconds(64))
    }
}
