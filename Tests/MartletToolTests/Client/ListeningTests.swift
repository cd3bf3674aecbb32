import Foundation
import Martlet
import MartletRelay
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite(.timeLimit(.minutes(10))) struct ListeningTests {
    @Test func `an offset beyond the last message is not a lost log and new messages are written`() async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let address = try #require(try relay.start().first)
        let endpoint = "martlet://\(address)"
        do {
            let report = try await withClient(try Client(to: endpoint, as: .anonymous("ada"))) { ada in
                let lobby = try await ada.open(room: "lobby")
                for number in 1...5 { _ = try await lobby.send("\(number)").accepted() }
                // The listener ends with the first message after its start.
                let talk = Task { while !Task.isCancelled { _ = try await lobby.send("later").accepted() } }
                defer { talk.cancel() }
                return try await listen(at: endpoint, from: .cursor(1_000_000), count: 1)
            }
            #expect(report.received == 1)
            #expect(report.replacedLogs == 0)
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    @Test func `a request to a listener -> unknownMethod, as it serves none`() async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let address = try #require(try relay.start().first)
        let listening = Task { try await listen(at: "martlet://\(address)", from: .latest, count: 1) }
        let failure = try await withClient(try Client(to: "martlet://\(address)", as: .anonymous("ada"))) { ada in
            let lobby = try await ada.open(room: "lobby")
            while true {
                do {
                    _ = try await lobby.request("roll", to: "bob")
                } catch let error as MartletError {
                    // The listener has not entered yet.
                    guard error == .answeredWithFailure(.noRecipient, reason: nil) else { return error }
                }
            }
        }
        #expect(failure == .answeredWithFailure(.unknownMethod, reason: nil))
        listening.cancel()
        _ = await listening.result
        await relay.shutdown()
    }

    private func listen(
        at endpoint: String, from begin: ListenCommand.Begin, count: Int
    ) async throws -> TransferReport {
        let monitor = TransferMonitor(.none)
        let null = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        return try await withClient(try Client(to: endpoint, as: .anonymous("bob"))) { bob in
            let output = LineOutput(to: null.fileDescriptor, cursorFile: nil)
            let listening = Listening(begin: StartingPoint(begin), count: count)
            try await listening.run(bob, "lobby", output, monitor)
            return await monitor.finish(bob)
        }
    }
}

@Suite struct IdleTimerTests {
    /// Returns a timer of 10 s with a connection at the previous check.
    private func onlineTimer() -> IdleTimer {
        var timer = IdleTimer(limit: .seconds(10))
        timer.update(isOnline: true, elapsed: .zero, messageCount: 0)
        return timer
    }

    @Test func `ten seconds online without a message expire the timer`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
        timer.update(isOnline: true, elapsed: .seconds(6), messageCount: 0)
        #expect(timer.remaining == .zero)
        timer.update(isOnline: true, elapsed: .seconds(1), messageCount: 0)
        #expect(timer.remaining == .zero)
    }

    @Test func `with a cut every three seconds the time between the cuts is added`() {
        var timer = onlineTimer()
        var seconds = 0
        while timer.remaining > .zero, seconds < 100 {
            seconds += 1
            timer.update(isOnline: seconds % 3 != 0, elapsed: .seconds(1), messageCount: 0)
        }
        // Three seconds before the first cut count, then two of each three.
        #expect(seconds == 14)
    }

    @Test func `connections shorter than the time between two checks → their durations are added`() {
        var timer = onlineTimer()
        var count = 0
        while timer.remaining > .zero, count < 1000 {
            count += 1
            timer.update(isOnline: false, elapsed: .milliseconds(50), messageCount: 0)
            timer.update(isOnline: true, elapsed: .seconds(2), messageCount: 0)
        }
        #expect(count == 200)
    }

    @Test func `lines that are not written → reset the time, and it begins when they are`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 0)
        for _ in 1...3 { timer.update(isOnline: true, isBlocked: true, elapsed: .seconds(60), messageCount: 0) }
        #expect(timer.remaining == .seconds(10))
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
    }

    @Test func `time before a cut counts, time offline does not`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(3), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(1), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(100), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(100), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
    }

    @Test func `a message resets the time, also offline`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        #expect(timer.remaining == .seconds(10))
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        timer.update(isOnline: false, elapsed: .seconds(1), messageCount: 2)
        #expect(timer.remaining == .seconds(10))
    }

    @Test func `without a connection no time is counted`() {
        var timer = IdleTimer(limit: .seconds(1))
        for _ in 1...3 { timer.update(isOnline: false, elapsed: .seconds(60), messageCount: 0) }
        #expect(timer.remaining == .seconds(1))
    }
}

@Suite struct StartingPointTests {
    private let log = LogID(rawValue: 7)

    @Test func `a stored cursor has precedence over the option`() {
        let kept = RoomCursor(log: log, offset: 3)
        #expect(StartingPoint(.cursor(100), kept: kept).from == .cursor(kept))
        #expect(StartingPoint(.start, kept: kept).from == .cursor(kept))
        #expect(StartingPoint(.start).from == .start)
        #expect(StartingPoint(.latest).from == .latest(count: 0))
        #expect(StartingPoint(.cursor(100)).from == .cursor(RoomCursor(offset: 100)))
    }

    @Test func `the offset 100 of the user in a room of 5 messages is beyond the end`() {
        #expect(StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(offset: 100)))
    }

    @Test func `a replaced cursor with a log is a lost log`() {
        #expect(!StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(log: log, offset: 100)))
        #expect(!StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(log: log, offset: 5)))
        #expect(!StartingPoint(.start).isBeyondEnd(replaced: RoomCursor(log: log, offset: 5)))
    }

    @Test func `a replaced stored cursor without a log is a lost log`() {
        let start = StartingPoint(.cursor(100), kept: RoomCursor(offset: 100))
        #expect(!start.isBeyondEnd(replaced: RoomCursor(offset: 100)))
    }
}
