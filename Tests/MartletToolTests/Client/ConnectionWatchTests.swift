import Martlet
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct ConnectionWatchTests {
    private let refused = "offline (unreachable): connection refused"

    @Test func `an unreachable relay is reported once after a second`() {
        var watch = ConnectionWatch(timeout: nil)
        #expect(watch.check(.connecting(attempt: 1), explanation: "connecting", now: .zero) == .nothing)
        #expect(watch.check(.connecting(attempt: 2), explanation: refused, now: .milliseconds(900)) == .nothing)
        #expect(
            watch.check(.connecting(attempt: 3), explanation: refused, now: .seconds(1))
                == .report("no connection: \(refused); retrying"))
        #expect(watch.check(.connecting(attempt: 9), explanation: refused, now: .seconds(60)) == .nothing)
        #expect(watch.check(.online, explanation: "online", now: .seconds(61)) == .report("connected"))
        #expect(watch.check(.online, explanation: "online", now: .seconds(62)) == .nothing)
    }

    @Test func `a short interruption is not reported and each long one is`() {
        var watch = ConnectionWatch(timeout: nil)
        #expect(watch.check(.online, explanation: "online", now: .zero) == .nothing)
        #expect(watch.check(.connecting(attempt: 1), explanation: refused, now: .seconds(5)) == .nothing)
        #expect(watch.check(.online, explanation: "online", now: .milliseconds(5900)) == .nothing)
        for second in [10, 20] {
            #expect(watch.check(.connecting(attempt: 1), explanation: refused, now: .seconds(second)) == .nothing)
            guard case .report = watch.check(.connecting(attempt: 1), explanation: refused, now: .seconds(second + 1))
            else {
                Issue.record("no report at \(second)")
                continue
            }
            #expect(watch.check(.online, explanation: "online", now: .seconds(second + 2)) == .report("connected"))
        }
    }

    @Test func `a command without a connection ends after the timeout`() {
        var watch = ConnectionWatch(timeout: .seconds(3))
        #expect(watch.check(.online, explanation: "online", now: .seconds(10)) == .nothing)
        #expect(watch.check(.connecting(attempt: 1), explanation: refused, now: .seconds(11)) == .nothing)
        guard case .report = watch.check(.connecting(attempt: 2), explanation: refused, now: .seconds(14)) else {
            Issue.record("no report")
            return
        }
        #expect(
            watch.check(.connecting(attempt: 3), explanation: refused, now: .milliseconds(14_200))
                == .end(CommandError(.unavailable, "no connection for 3.00 s: \(refused)")))
    }

    @Test func `a stopped client ends the command`() {
        var watch = ConnectionWatch(timeout: nil)
        #expect(
            watch.check(.stopped(.unauthenticated), explanation: "stopped: unauthenticated", now: .zero)
                == .end(CommandError(.noPermission, "stopped: unauthenticated")))
        #expect(watch.check(.stopped(nil), explanation: "stopped", now: .zero) == .nothing)
    }
}
