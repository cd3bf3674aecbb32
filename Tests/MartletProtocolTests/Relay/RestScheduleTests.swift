import MartletWire
import Testing

@testable import MartletProtocol
@testable import MartletTestKit

@Suite struct RestScheduleTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 1) + .milliseconds(milliseconds) }

    private func isPacked(on stage: RelayStage) -> Bool { stage.relay.engine.links.isPacked(0) }

    @Test func `while nothing is awake nothing is due`() {
        var schedule = RestSchedule()
        schedule.update(wakefulCount: 0, now: at(0))
        #expect(schedule.deadline == nil && !schedule.isDue(now: at(1000)))
        schedule.update(wakefulCount: 1, now: at(0))
        #expect(schedule.deadline == at(50) && !schedule.isDue(now: at(49)) && schedule.isDue(now: at(50)))
        schedule.update(wakefulCount: 0, now: at(10))
        #expect(schedule.deadline == nil)
    }

    @Test func `looks that find nothing become rare, and frequent again with news`() {
        var schedule = RestSchedule()
        var now = at(0)
        schedule.update(wakefulCount: 3, now: now)
        var gaps: [Int64] = []
        for _ in 0..<10 {
            let due = schedule.deadline ?? now
            gaps.append((due - now).milliseconds)
            now = due
            schedule.looked(packedCount: 0, wakefulCount: 3, now: now)
            schedule.update(wakefulCount: 3, now: now)
        }
        #expect(gaps == [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
        schedule.update(wakefulCount: 4, now: now)
        #expect(schedule.deadline == now + .milliseconds(50))
        schedule.looked(packedCount: 1, wakefulCount: 3, now: now + .milliseconds(50))
        #expect(schedule.deadline == now + .milliseconds(100))
        schedule.looked(packedCount: 3, wakefulCount: 0, now: now + .milliseconds(100))
        #expect(schedule.deadline == nil)
    }

    @Test func `links and rooms that say nothing take few bytes, and go on when something is said`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for peer in [alice, bob] { peer.acknowledgeAll() }
        stage.run(for: .seconds(1))
        #expect(stage.relay.engine.links.wakefulCount == 0 && stage.relay.engine.rooms.wakefulCount == 0)
        for slot in 0..<2 {
            let byteCount = stage.relay.engine.links.packedByteCount(slot)
            #expect(byteCount.map { $0 <= 160 } == true)
        }
        #expect(MemoryLayout<RelayConnection>.size <= 80)
        alice.text("hello", counter: 1)
        #expect(bob.log.frames.last?.header.type == .data)
        #expect(stage.relay.engine.links.wakefulCount == 2 && stage.relay.engine.rooms.wakefulCount == 1)
    }

    @Test func `a ping is answered from rest, and rest follows`() {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        stage.run(for: .seconds(1))
        for nonce in 1...3 {
            peer.say(Ping(nonce: UInt64(nonce)))
            #expect(peer.log.last(Pong.self)?.nonce == UInt64(nonce))
            stage.run(for: .seconds(30))
            #expect(stage.relay.engine.links.wakefulCount == 0 && stage.relay.engine.deadline != nil)
        }
    }

    @Test func `a link at rest resumes, and is ended by who may end it`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        let welcome = try #require(peer.log.last(Welcome.self))
        peer.cut()
        stage.run(for: .seconds(1))
        #expect(isPacked(on: stage) && stage.relay.engine.statistics.suspendedLinks == 1)
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
        ]
        let resumed = again.greet(
            "alice",
            resume: ResumePoint(
                link: welcome.link, token: welcome.resumeToken, positions: positions))
        #expect(resumed?.resumed != nil && stage.relay.engine.statistics.resumes == 1)
        stage.run(for: .seconds(1))
        #expect(isPacked(on: stage))
        stage.act { engine, now in engine.revoke(.named("alice"), now: now) }
        #expect(again.farewell == .revoked && stage.relay.engine.statistics.links == 0)
    }
}
