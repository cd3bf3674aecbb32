import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A backup connection beside one whose acknowledgements are overdue.
@Suite struct ConnectionSupervisorTests {
    private func stage() throws -> (ClientStage, RoomID, line: ConnectionID) {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let line = stage.connection
        try stage.act {
            try $0.send(
                counter: 1, content: MessageContent(text: "hello"), timeToLive: nil, in: room, now: $1)
        }
        return (stage, room, line)
    }

    // C-63
    @Test func `a backup connected before an acknowledgement replaces the connection and resumes`() throws {
        let (stage, _, first) = try stage()
        // The round trip is not measured yet.
        stage.run(for: .milliseconds(999))
        #expect(stage.backup == .none)
        stage.run(for: .milliseconds(1))
        let backup = stage.backup
        #expect(stage.count(.link(.startBackup(backup, beside: first))) == 1)
        #expect(stage.engine.status.isOnline)
        stage.acceptBackup()
        #expect(stage.count(.link(.close(first, graceful: false))) == 1)
        let hello = try #require(stage.log.last(Hello.self))
        #expect(hello.resume?.token == ResumeToken(1, 2, 3, 1))
        #expect(stage.log.frames.map(\.type) == [.hello, .data])
        stage.welcome(epoch: 2, resumed: [SessionPosition(session: .first, received: 2)])
        #expect(stage.engine.status.isOnline)
        #expect(stage.engine.status.resumes == 1)
        #expect(stage.engine.status.lastFailure == nil)
    }

    // C-63
    @Test func `an acknowledgement closes the backup before its hello`() throws {
        let (stage, _, first) = try stage()
        stage.run(for: .seconds(1))
        let backup = stage.backup
        stage.acknowledge(2)
        #expect(stage.count(.link(.close(backup, graceful: false))) == 1)
        stage.act { $0.handle(.connected(backup, localAddress: nil), now: $1) }
        #expect(stage.connection == first)
        #expect(stage.log.all(Hello.self).count == 1)
    }

    // C-63
    @Test func `a refused backup keeps the connection, and the next one starts after half the time`() throws {
        let (stage, _, first) = try stage()
        stage.run(for: .seconds(1))
        let refused = stage.backup
        stage.act { $0.handle(.connectFailed(refused), now: $1) }
        #expect(stage.engine.status.isOnline)
        stage.run(for: .milliseconds(499))
        #expect(stage.backup == refused)
        stage.run(for: .milliseconds(1))
        #expect(stage.count(.link(.startBackup(stage.backup, beside: first))) == 1)
        #expect(stage.backup != refused)
    }

    // C-63
    @Test func `silence ends the connection, and the attempt of the backup continues`() throws {
        let (stage, _, first) = try stage()
        stage.run(for: .seconds(1))
        let backup = stage.backup
        stage.run(for: .seconds(6))
        #expect(stage.count(.link(.close(first, graceful: false))) == 1)
        #expect(stage.count(.link(.close(backup, graceful: false))) == 0)
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        #expect(stage.engine.status.lastFailure == .lost)
        stage.acceptBackup()
        #expect(stage.log.last(Hello.self)?.resume != nil)
    }

    // C-63
    @Test func `silence after an earlier goaway, with a backup → lost, without the code of the goaway`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.say(GoAway(Notice(code: .serverBusy)))
        #expect(stage.engine.status.lastCode == .serverBusy)
        stage.act { $0.handle(.retryNow, now: $1) }
        stage.accept()
        stage.welcome(
            epoch: 2,
            resumed: [
                SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
            ])
        try stage.act {
            try $0.send(counter: 1, content: MessageContent(text: "hello"), timeToLive: nil, in: room, now: $1)
        }
        let connection = stage.connection
        stage.run(for: .seconds(7))
        #expect(stage.engine.status.lastFailure == .lost && stage.engine.status.lastCode == nil)
        #expect(stage.engine.status.failedConnection == connection)
    }

    // C-63
    @Test func `an unanswered hello → a backup after 1 s`() throws {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let first = stage.connection
        stage.run(for: .milliseconds(999))
        #expect(stage.backup == .none)
        stage.run(for: .milliseconds(1))
        #expect(stage.count(.link(.startBackup(stage.backup, beside: first))) == 1)
        stage.acceptBackup()
        #expect(stage.count(.link(.close(first, graceful: false))) == 1)
        stage.welcome()
        #expect(stage.engine.status.isOnline)
        #expect(!stage.engine.client.connection.hasBackup)
    }

    // C-12, C-63
    @Test func `a backup waits for its own credential`() throws {
        let (stage, _, _) = try stage()
        stage.givesCredentials = false
        stage.run(for: .seconds(1))
        let backup = stage.backup
        stage.acceptBackup()
        #expect(stage.log.frames.isEmpty)
        stage.act { $0.handle(.credential(backup, Credential("fresh")), now: $1) }
        #expect(stage.log.last(Hello.self)?.credential == Credential("fresh"))
    }

    @Test func `a failed credential closes the backup`() throws {
        let (stage, _, _) = try stage()
        stage.givesCredentials = false
        stage.run(for: .seconds(1))
        let backup = stage.backup
        stage.act { $0.handle(.credentialFailed(backup), now: $1) }
        #expect(stage.count(.link(.close(backup, graceful: false))) == 1)
        #expect(stage.engine.status.isOnline)
    }

    @Test func `the end of the connection closes the backup`() throws {
        let (stage, _, first) = try stage()
        stage.run(for: .seconds(1))
        let backup = stage.backup
        stage.end()
        #expect(stage.count(.link(.close(backup, graceful: false))) == 1)
        #expect(!stage.engine.status.isOnline)
        stage.act { $0.handle(.connected(backup, localAddress: nil), now: $1) }
        #expect(stage.count(.link(.close(first, graceful: false))) == 1)
        #expect(!stage.engine.status.isOnline)
    }

    // C-63, Specs/hostile.md row 27
    @Test(arguments: [50, 200, 400])
    func `a message on a stuck stream is accepted after its timeout and three round trips`(delay: Int) throws {
        let pair = try Pair(.reliable, PathConditions(delay: .milliseconds(delay)))
        pair.settle()
        try pair.say(1...3, every: .milliseconds(10))
        pair.world.run(for: .seconds(5))
        pair.world.dropNATMappings(of: pair.alice)
        try pair.say(4...4)
        // Then follow the attempt, hello with the message, and accepted.
        let timeout = max(.milliseconds(500), .milliseconds(delay) * 6)
        #expect(pair.isAccepted(4, within: timeout + .milliseconds(delay) * 6))
        #expect(pair.alice.engine.status.resumes == 1)
    }
}
