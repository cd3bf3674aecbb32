import MartletRelay
import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Network faults: lost packets, dropped NAT mappings, restarted relays, hosts that do not read.
@Suite struct NetworkFaultTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    /// The duration until a client is no longer online; nil beyond the limit.
    private func notice(_ pair: Pair, _ client: VirtualClient, within limit: Duration) -> Duration? {
        let began = pair.world.now
        let hasNoticed = pair.world.run(until: began + limit) { !client.engine.status.isOnline }
        return hasNoticed ? pair.world.now - began : nil
    }

    // MARK: Half-open connections

    // Specs/hostile.md row 27
    @Test(arguments: carriers, 1...10)
    func `a silent relay is detected within 10 s while a message is unacknowledged`(
        carrier: Carrier, seed: Int
    ) throws {
        let delay = Duration.milliseconds(20 * seed)
        let pair = try Pair(carrier, PathConditions(delay: delay, jitter: delay / 2), seed: UInt64(seed))
        pair.settle()
        // The round trip is measured, and the heartbeat is at a varying point of its interval.
        try pair.say(1...5, every: .seconds(seed))
        pair.world.blackHole(pair.alice)
        try pair.say(6...6)
        let took = try #require(notice(pair, pair.alice, within: .seconds(60)))
        #expect(took <= .seconds(10))
        pair.world.restore(pair.alice)
        #expect(pair.isAccepted(6))
        pair.world.run(for: .seconds(5))
        #expect(pair.bob.texts(in: pair.his) == (1...6).map { "line \($0)" })
    }

    // Specs/hostile.md row 27
    @Test(arguments: 1...5)
    func `an idle client detects a silent relay within its heartbeat's interval and 5 s`(seed: Int) throws {
        let pair = try Pair(seed: UInt64(seed))
        pair.settle()
        pair.world.run(for: .seconds(7 * seed))
        pair.world.blackHole(pair.alice)
        let interval = try #require(pair.alice.engine.client.connection.heartbeat.currentInterval)
        let took = try #require(notice(pair, pair.alice, within: .seconds(600)))
        #expect(took <= interval + .seconds(5))
    }

    @Test func `a client that enters the foreground detects a silent relay within 5 s`() throws {
        let pair = try Pair()
        pair.settle()
        pair.world.act(pair.alice) { $0.handle(.setMode(.background), now: $1) }
        pair.world.run(for: .seconds(20))
        pair.world.blackHole(pair.alice)
        pair.world.act(pair.alice) { $0.handle(.enterForeground, now: $1) }
        let took = try #require(notice(pair, pair.alice, within: .seconds(60)))
        #expect(took <= .seconds(5))
    }

    // Specs/hostile.md row 27
    @Test(arguments: carriers) func `a dropped NAT mapping is detected within 10 s, and the link resumes`(
        carrier: Carrier
    ) throws {
        let pair = try Pair(carrier)
        pair.settle()
        pair.world.dropNATMappings(of: pair.alice)
        try pair.say(1...1)
        let took = try #require(notice(pair, pair.alice, within: .seconds(60)))
        #expect(took <= .seconds(10))
        #expect(pair.isAccepted(1, within: .seconds(5)))
        #expect(pair.alice.engine.status.resumes == 1)
    }

    // Specs/hostile.md row 27
    @Test(arguments: carriers) func `messages sent after the receiver's NAT mapping was dropped arrive with its resume`(
        carrier: Carrier
    ) throws {
        let pair = try Pair(carrier)
        pair.settle()
        pair.world.dropNATMappings(of: pair.bob)
        let lines = try pair.say(1...3)
        #expect(pair.isAccepted(3))
        let interval = try #require(pair.bob.engine.client.connection.heartbeat.currentInterval)
        let limit = pair.world.now + interval + .seconds(10)
        #expect(pair.world.run(until: limit) { pair.bob.texts(in: pair.his) == lines })
    }

    // MARK: Black holes

    // Specs/hostile.md row 31
    @Test(arguments: carriers, [5, 60])
    func `a black hole neither loses nor duplicates messages, and costs at most a window for each reconnect`(
        carrier: Carrier, seconds: Int
    ) throws {
        let pair = try Pair(carrier)
        pair.settle()
        let filler = String(repeating: "x", count: 1000)
        var lines: [String] = []
        for number in 1...200 {
            if number == 60 { pair.world.blackHole(pair.alice) }
            lines.append("\(number) \(filler)")
            try pair.world.send(lines[number - 1], from: pair.alice, in: pair.hers)
            pair.world.run(for: .milliseconds(20))
        }
        pair.world.run(for: .seconds(seconds) - .milliseconds(2800))
        pair.world.restore(pair.alice)
        #expect(pair.isAccepted(200, within: .seconds(40)))
        pair.world.run(for: .seconds(5))
        #expect(pair.bob.texts(in: pair.his) == lines)
        if carrier == .reliable {
            // Each reconnect sends at most one window again; a frame is longer than its text.
            let again = Int(pair.alice.engine.counters.retransmissions) * 1000
            #expect(again <= Int(pair.alice.engine.status.reconnects) * 256 * 1024)
        }
    }

    @Test func `a handshake into a black hole ends after 10 s, and later attempts after 15 s`() throws {
        let pair = try Pair(.reliable, PathConditions(delay: .milliseconds(50)))
        #expect(pair.world.run(until: pair.world.now + .seconds(1)) { pair.alice.engine.status.state == .handshaking })
        pair.world.blackHole(pair.alice)
        let began = pair.world.now
        #expect(
            pair.world.run(until: began + .seconds(60)) { pair.alice.engine.status.state != .handshaking })
        #expect(pair.world.now - began == .seconds(10))
        // Unanswered attempts end at their own deadline.
        for _ in 0..<3 {
            #expect(
                pair.world.run(until: pair.world.now + .seconds(60)) {
                    if case .connecting = pair.alice.engine.status.state { true } else { false }
                })
            let dialled = pair.world.now
            #expect(
                pair.world.run(until: dialled + .seconds(60)) {
                    if case .waiting = pair.alice.engine.status.state { true } else { false }
                })
            #expect(pair.world.now - dialled == .seconds(15))
        }
        pair.world.restore(pair.alice)
        #expect(pair.world.run(until: pair.world.now + .seconds(60)) { pair.alice.engine.status.isOnline })
    }

    // MARK: The first message after a cut

    @Test(arguments: [0, 200])
    func `after a cut the first pending message arrives one and a half round trips after connect`(others: Int) throws {
        let pair = try Pair()
        pair.settle()
        let before = try others == 0 ? [] : pair.say(1...others)
        if others > 0 { #expect(pair.isAccepted(others)) }
        pair.world.cut(pair.alice)
        #expect(pair.world.run(until: pair.world.now + .seconds(5)) { !pair.alice.engine.status.isOnline })
        let pending = try pair.say(1000...(1000 + others))
        var connected: Instant?
        pair.world.run(until: pair.world.now + .seconds(60)) {
            if connected == nil, pair.alice.engine.status.state == .handshaking { connected = pair.world.now }
            return pair.bob.texts(in: pair.his).count > before.count
        }
        #expect(pair.world.now - (try #require(connected)) <= .milliseconds(150))
        pair.world.run(for: .seconds(5))
        #expect(pair.bob.texts(in: pair.his) == before + pending)
    }

    // MARK: Restarted relays

    //
    @Test(arguments: carriers, [0, 20]) func `a restarted relay keeps accepted messages and stores the others once`(
        carrier: Carrier, down: Int
    ) throws {
        let pair = try Pair(carrier)
        pair.world.relay.storeDelay = .milliseconds(30)
        pair.settle()
        var lines: [String] = []
        for round in 0..<4 {
            lines += try pair.say((round * 50 + 1)...(round * 50 + 50), every: .milliseconds(10))
            pair.world.restartRelay(downFor: .seconds(down))
        }
        #expect(pair.isAccepted(200))
        pair.world.run(for: .seconds(60))
        #expect(pair.bob.texts(in: pair.his) == lines)
        #expect(pair.world.relay.log[.lobby]?.map(\.counter) == (1...200).map { UInt64($0) })
    }

    // MARK: Hosts that do not read

    // Specs/hostile.md row 20
    @Test func `a stalled reader is disconnected within 10 s, and the latency of others at most doubles`() throws {
        let pair = try Pair()
        let carol = pair.world.addClient("carol")
        let room = try pair.world.open(.lobby, for: carol)
        pair.settle()
        var letGo: Instant?
        func latency() throws -> Duration {
            var worst = Duration.zero
            for number in 0..<250 {
                let sent = pair.world.now
                let text = "\(number)" + String(repeating: "x", count: 4000)
                try pair.world.send(text, from: pair.alice, in: pair.hers)
                pair.world.run(for: .milliseconds(100))
                worst = max(worst, (carol.received[room]?.last?.at ?? pair.world.now) - sent)
                if letGo == nil, pair.world.relay.engine.statistics.suspendedLinks > 0 { letGo = pair.world.now }
            }
            return worst
        }
        let before = try latency()
        #expect(letGo == nil)
        pair.world.stopReading(pair.bob)
        let stalled = pair.world.now
        #expect(try latency() <= before * 2)
        #expect(try #require(letGo) - stalled <= .seconds(10))
        pair.world.startReading(pair.bob)
        pair.world.run(for: .seconds(30))
        #expect(pair.bob.received[pair.his]?.count == 500)
    }

    // MARK: Store failures

    @Test(arguments: carriers) func `store failures neither lose nor reorder messages`(carrier: Carrier) throws {
        let pair = try Pair(carrier)
        pair.world.relay.storeDelay = .milliseconds(50)
        pair.settle()
        var lines: [String] = []
        for round in 0..<10 {
            pair.world.relay.refusesAppends = round % 3 == 1
            lines += try pair.say((round * 20 + 1)...(round * 20 + 20), every: .milliseconds(20))
        }
        pair.world.relay.refusesAppends = false
        #expect(pair.isAccepted(200))
        pair.world.run(for: .seconds(5))
        #expect(pair.bob.texts(in: pair.his) == lines)
        #expect(!pair.alice.events(in: pair.hers).contains { if case .failed = $0 { true } else { false } })
    }

    @Test func `20 sessions that are reset during 256 KiB of messages do not use up the link's credit`() throws {
        let pair = try Pair(.reliable, PathConditions(delay: .milliseconds(50), bytesPerSecond: 500_000))
        pair.world.relay.storeDelay = .milliseconds(20)
        pair.settle()
        let filler = String(repeating: "x", count: 8000)
        for number in 1...300 { try pair.world.send("\(number) \(filler)", from: pair.alice, in: pair.hers) }
        for _ in 0..<20 {
            pair.world.relay.refusesAppends = true
            pair.world.run(for: .milliseconds(700))
            pair.world.relay.refusesAppends = false
            pair.world.run(for: .milliseconds(700))
        }
        #expect(pair.isAccepted(300, within: .seconds(120)))
    }

    @Test func `a message after ten minutes of silence is accepted without a reconnect`() throws {
        let pair = try Pair()
        pair.settle()
        pair.world.run(for: .seconds(600))
        try pair.say(1...1)
        #expect(pair.isAccepted(1, within: .milliseconds(300)))
        #expect(pair.alice.engine.status.reconnects == 0)
    }
}
