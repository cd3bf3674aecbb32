import Martlet
import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Specs/hostile.md row 26.
///
/// The engines know only the instants that the caller passes, which never decrease. A wall clock determines only the
/// times of messages.
@Suite("Clock changes and sleep do not affect deadlines")
struct ClockChangeTests {
    private static let day: Int64 = 24 * 3600 * 1000

    @Test("a wall clock changed by a day affects only the times of messages", arguments: [true, false])
    func clockIsSet(isForward: Bool) throws {
        let pair = try Pair()
        pair.settle()
        try pair.say(1...5)
        pair.world.run(for: .seconds(5))
        let connections = pair.world.connectionCount
        pair.world.wallClockOffset += isForward ? Self.day : -Self.day
        try pair.say(6...10)
        pair.world.run(for: .seconds(300))
        #expect(pair.world.connectionCount == connections)
        #expect(pair.bob.texts(in: pair.his) == (1...10).map { "line \($0)" })
        let stamps = pair.bob.received[pair.his]!.compactMap(\.message.relay?.acceptedAt)
        let jump = Int64(bitPattern: stamps[5]) - Int64(bitPattern: stamps[4])
        #expect(abs(jump) > Self.day - 60_000 && (jump > 0) == isForward)
    }

    // C-51
    @Test(
        "after an hour of sleep a living server is probed at once and the connection remains",
        arguments: [true, false])
    func sleepsAndIsAwaited(isTold: Bool) {
        let stage = asleepForAnHour()
        let connection = stage.connection
        stage.answersPings = true
        if isTold { stage.act { $0.handle(.wake, now: $1) } }
        stage.run(for: .zero)
        #expect(stage.log.all(Ping.self).count == 1)
        stage.run(for: .seconds(60))
        #expect(stage.connection == connection)
        #expect(stage.engine.status.state == .online)
        #expect(stage.engine.status.reconnects == 0)
    }

    @Test("after an hour of sleep a dead server is detected within 5 s", arguments: [true, false])
    func sleepsAndIsForgotten(isTold: Bool) {
        let stage = asleepForAnHour()
        if isTold { stage.act { $0.handle(.wake, now: $1) } }
        stage.run(for: .zero)
        #expect(stage.log.all(Ping.self).count == 1)
        #expect(stage.engine.status.state == .online)
        stage.run(for: .seconds(5))
        #expect(stage.engine.status.state != .online)
    }

    private func asleepForAnHour() -> ClientStage {
        let stage = ClientStage()
        stage.goOnline()
        stage.run(for: .seconds(1))
        stage.freeze(for: .seconds(3600))
        return stage
    }
}
