import MartletLink
import MartletWire
import Testing

@Suite struct HeartbeatTests {
    /// The random word without jitter: in the foreground with an unknown round trip the interval is 45 s.
    private let middle: UInt64 = 1 << 63

    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: UInt64(seconds * 1e9)) }

    private func idle() -> Heartbeat { Heartbeat(now: .zero, random: middle) }

    @Test func `silence for the interval → a ping`() {
        var heartbeat = idle()
        #expect(heartbeat.deadline == at(45))
        #expect(heartbeat.deadlinePassed(now: at(44.9), random: 7) == .none)
        #expect(heartbeat.deadlinePassed(now: at(45), random: 7) == .sendPing(nonce: 7))
    }

    // C-46
    @Test func `a received frame delays the ping`() {
        var heartbeat = idle()
        for second in stride(from: 10.0, through: 600, by: 10) {
            heartbeat.received(now: at(second))
            #expect(heartbeat.deadlinePassed(now: at(second), random: 7) == .none)
        }
        #expect(heartbeat.deadline == at(645))
    }

    @Test func `a sent frame does not delay the ping`() {
        var heartbeat = idle()
        heartbeat.sent(now: at(40))
        #expect(heartbeat.deadline == at(45))
    }

    @Test func `two unanswered pings → dead, once`() {
        var heartbeat = idle()
        #expect(heartbeat.deadlinePassed(now: at(45), random: 1) == .sendPing(nonce: 1))
        #expect(heartbeat.deadline == at(47))
        #expect(heartbeat.deadlinePassed(now: at(47), random: 2) == .sendPing(nonce: 2))
        #expect(heartbeat.deadline == at(49))
        #expect(heartbeat.deadlinePassed(now: at(49), random: 3) == .dead)
        #expect(heartbeat.deadline == nil)
        #expect(heartbeat.deadlinePassed(now: .distantFuture, random: 4) == .none)
        #expect(heartbeat.probe(now: at(50), random: 5) == .none)
        #expect(heartbeat.wake(now: at(50), random: 6) == .none)
        #expect(heartbeat.setMode(.background, now: at(50), random: 7) == .none)
        heartbeat.received(now: at(51))
        #expect(heartbeat.deadline == nil)
    }

    @Test func `a frame between the pings ends the probing`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        _ = heartbeat.deadlinePassed(now: at(47), random: 2)
        heartbeat.received(now: at(48))
        #expect(heartbeat.deadlinePassed(now: at(49), random: 3) == .none)
        #expect(heartbeat.deadline! > at(48 + 40))
    }

    @Test func `a pong gives the round trip of its ping, and the silence before the first ping`() {
        var heartbeat = idle()
        heartbeat.sent(now: at(5))
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        _ = heartbeat.deadlinePassed(now: at(47), random: 2)
        let answer = heartbeat.pongReceived(nonce: 1, now: at(47.5))
        #expect(answer == .answered(roundTrip: .milliseconds(2500), silence: .seconds(40)))
        #expect(heartbeat.pongReceived(nonce: 1, now: at(47.6)) == .unknown)
    }

    @Test func `a pong behind another frame gives its round trip`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        heartbeat.received(now: at(45.1))
        let answer = heartbeat.pongReceived(nonce: 1, now: at(45.2))
        #expect(answer == .answered(roundTrip: .milliseconds(200), silence: .seconds(45)))
    }

    @Test func `a pong with an unknown nonce ends the probing and gives no round trip`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        #expect(heartbeat.pongReceived(nonce: 99, now: at(46)) == .unknown)
        #expect(heartbeat.deadlinePassed(now: at(47), random: 2) == .none)
    }

    // C-47
    @Test func `while a reply is expected the silence is at most 4 s`() {
        var heartbeat = idle()
        heartbeat.received(now: at(10))
        heartbeat.expectReply(true, now: at(10.5))
        #expect(heartbeat.deadline == at(14.5))
        heartbeat.expectReply(true, now: at(12))
        #expect(heartbeat.deadline == at(14.5))
        heartbeat.received(now: at(13))
        #expect(heartbeat.deadline == at(17))
        heartbeat.expectReply(false, now: at(14))
        #expect(heartbeat.deadline == at(58))
    }

    @Test func `a message after a long silence → a ping after 4 s, or earlier at the end of the interval`() {
        var heartbeat = idle()
        heartbeat.expectReply(true, now: at(30))
        #expect(heartbeat.deadline == at(34))
        heartbeat.expectReply(false, now: at(31))
        heartbeat.expectReply(true, now: at(43))
        #expect(heartbeat.deadline == at(45))
    }

    // C-47
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a silent peer is dead within 10 s if a reply is expected, else within the interval and 5 s`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            let mode: HeartbeatMode = [.foreground, .background, .lowPower].randomElement(using: &random)!
            var heartbeat = Heartbeat(mode: mode, now: .zero, random: random.next())
            let rtt = Duration.milliseconds(Int.random(in: 1...20_000, using: &random))
            heartbeat.setRoundTrip(smoothed: rtt, timeout: rtt * 2)
            let death = at(Double.random(in: 0..<10, using: &random))
            heartbeat.received(now: death)
            let isExpecting = Bool.random(using: &random)
            let since = death + .milliseconds(Int.random(in: 0..<20_000, using: &random))
            var promise = death + heartbeat.currentInterval! + .seconds(5)
            if isExpecting {
                if heartbeat.deadline! < since { continue }
                heartbeat.expectReply(true, now: since)
                promise = since + .seconds(10)
            }
            let (diedAt, pingCount) = runUntilDead(&heartbeat, using: &random)
            #expect(diedAt <= promise)
            #expect(pingCount == Heartbeat.probeCount)
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a peer that answers within 4 s is never dead`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var heartbeat = Heartbeat(now: .zero, random: random.next())
        heartbeat.expectReply(true, now: .zero)
        for _ in 0..<2000 {
            let asked = heartbeat.deadline!
            let nonce = random.next()
            #expect(heartbeat.deadlinePassed(now: asked, random: nonce) == .sendPing(nonce: nonce))
            let answered = asked + .milliseconds(Int.random(in: 0..<4000, using: &random))
            while let deadline = heartbeat.deadline, deadline < answered {
                #expect(heartbeat.deadlinePassed(now: deadline, random: random.next()) != .dead)
            }
            #expect(heartbeat.pongReceived(nonce: nonce, now: answered) != .unknown)
        }
    }

    // C-47
    @Test func `the second ping follows after two timeouts, clamped to 2 s and 2.4 s`() {
        for (timeout, wait) in [(200, 2.0), (1100, 2.2), (60_000, 2.4)] {
            var heartbeat = idle()
            heartbeat.setRoundTrip(smoothed: .milliseconds(50), timeout: .milliseconds(timeout))
            _ = heartbeat.deadlinePassed(now: at(30), random: 1)
            #expect(heartbeat.deadline == at(30 + wait))
        }
    }

    // C-51
    @Test func `entering the foreground → a ping at once`() {
        var heartbeat = Heartbeat(mode: .background, now: .zero, random: middle)
        #expect(heartbeat.deadline == at(135))
        #expect(heartbeat.setMode(.foreground, now: at(1), random: 5) == .sendPing(nonce: 5))
        #expect(heartbeat.mode == .foreground)
        #expect(heartbeat.setMode(.foreground, now: at(2), random: 6) == .none)
        #expect(heartbeat.deadline == at(3))
        heartbeat.received(now: at(2.5))
        #expect(heartbeat.setMode(.lowPower, now: at(3), random: 7) == .none)
    }

    @Test func `suspended → no pings and no deadline, the end of the suspension → a ping at once`() {
        for mode in [HeartbeatMode.foreground, .background, .lowPower] {
            var heartbeat = idle()
            _ = heartbeat.deadlinePassed(now: at(45), random: 1)
            #expect(heartbeat.setMode(.suspended, now: at(46), random: 2) == .none)
            #expect(heartbeat.deadline == nil)
            #expect(heartbeat.currentInterval == nil)
            #expect(heartbeat.deadlinePassed(now: at(4000), random: 3) == .none)
            #expect(heartbeat.probe(now: at(4000), random: 3) == .none)
            #expect(heartbeat.wake(now: at(4000), random: 3) == .none)
            #expect(heartbeat.setMode(mode, now: at(4000), random: 4) == .sendPing(nonce: 4))
            #expect(heartbeat.deadlinePassed(now: at(4002), random: 5) == .sendPing(nonce: 5))
            #expect(heartbeat.deadlinePassed(now: at(4004), random: 6) == .dead)
        }
    }

    // C-51
    @Test func `a wake → a ping at once, and earlier pings do not count`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        _ = heartbeat.deadlinePassed(now: at(47), random: 2)
        #expect(heartbeat.wake(now: at(3600), random: 3) == .sendPing(nonce: 3))
        #expect(heartbeat.deadlinePassed(now: at(3602), random: 4) == .sendPing(nonce: 4))
        #expect(heartbeat.deadlinePassed(now: at(3604), random: 5) == .dead)
    }

    // C-51
    @Test func `a deadline that passed during sleep → a new ping instead of dead`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        _ = heartbeat.deadlinePassed(now: at(47), random: 2)
        #expect(heartbeat.deadlinePassed(now: at(3600), random: 3) == .sendPing(nonce: 3))
        #expect(heartbeat.deadlinePassed(now: at(3602), random: 4) == .sendPing(nonce: 4))
        #expect(heartbeat.deadlinePassed(now: at(3604), random: 5) == .dead)
    }

    @Test func `a deadline less than 5 s late counts as unanswered`() {
        var late = idle()
        _ = late.deadlinePassed(now: at(45), random: 1)
        _ = late.deadlinePassed(now: at(47), random: 2)
        var asleep = late
        #expect(late.deadlinePassed(now: at(53.999), random: 3) == .dead)
        #expect(asleep.deadlinePassed(now: at(54), random: 3) == .sendPing(nonce: 3))
    }

    @Test func `a ping ends the measured silence`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 1)
        #expect(heartbeat.probedSilence == .seconds(45))
        _ = heartbeat.wake(now: at(3600), random: 2)
        #expect(heartbeat.probedSilence == .seconds(3555))
    }

    @Test func `a probe → a ping at once, and repeated probes do not extend the deadline`() {
        var heartbeat = idle()
        #expect(heartbeat.probe(now: at(1), random: 1) == .sendPing(nonce: 1))
        #expect(heartbeat.probe(now: at(2), random: 2) == .none)
        #expect(heartbeat.deadlinePassed(now: at(3), random: 3) == .sendPing(nonce: 3))
        #expect(heartbeat.probe(now: at(4), random: 4) == .none)
        #expect(heartbeat.deadlinePassed(now: at(5), random: 5) == .dead)
    }

    @Test func `a restart keeps round trip and strategy, and earlier pings do not count`() {
        var heartbeat = Heartbeat(strategy: .aggressive, now: .zero, random: middle)
        heartbeat.setRoundTrip(smoothed: .milliseconds(50), timeout: .milliseconds(200))
        heartbeat.expectReply(true, now: .zero)
        _ = heartbeat.deadlinePassed(now: at(4), random: middle)
        _ = heartbeat.deadlinePassed(now: at(6), random: 1)
        #expect(heartbeat.deadlinePassed(now: at(8), random: 2) == .dead)
        heartbeat.restart(now: at(20))
        #expect(heartbeat.deadline == at(44))
        #expect(heartbeat.pongReceived(nonce: 1, now: at(21)) == .unknown)
    }

    @Test func `a limit shortens the interval`() {
        var heartbeat = idle()
        heartbeat.setLimit(.seconds(20))
        #expect(heartbeat.deadline == at(20))
        heartbeat.setLimit(nil)
        #expect(heartbeat.deadline == at(45))
    }

    @Test func `each ping chooses another random interval`() {
        var heartbeat = idle()
        _ = heartbeat.deadlinePassed(now: at(45), random: 0)
        #expect(heartbeat.currentInterval == .milliseconds(40_500))
    }

    private func runUntilDead(_ heartbeat: inout Heartbeat, using random: inout SeededRandom) -> (Instant, Int) {
        var pingCount = 0
        while let deadline = heartbeat.deadline {
            switch heartbeat.deadlinePassed(now: deadline, random: random.next()) {
            case .sendPing: pingCount += 1
            case .dead: return (deadline, pingCount)
            case .none: return (.distantFuture, pingCount)
            }
        }
        return (.distantFuture, pingCount)
    }
}
