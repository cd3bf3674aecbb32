import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The time that a reset names, at the client.
@Suite struct RetryAfterTests {
    // S-64
    @Test func `a session that is reset with retryAfter is opened again after it, also on another link`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        stage.goOnline(.lobby)
        let began = stage.now
        stage.say(Reset(session: .first, code: .serverBusy, retryAfter: .seconds(40)))
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        stage.welcome()
        stage.run(for: began + .seconds(40) - stage.now)
        #expect(stage.log.all(Open.self).isEmpty)
        stage.run(for: .seconds(2))
        #expect(stage.log.all(Open.self).count == 1)
    }

    // S-64
    @Test func `a retryAfter of 49 days counts as one hour`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        stage.goOnline(.lobby)
        stage.say(Reset(session: .first, code: .serverBusy, retryAfter: .milliseconds(UInt32.max)))
        stage.run(for: .seconds(3600))
        #expect(stage.log.all(Open.self).count == 1)
        stage.run(for: .seconds(2))
        #expect(stage.log.all(Open.self).count == 2)
    }
}
