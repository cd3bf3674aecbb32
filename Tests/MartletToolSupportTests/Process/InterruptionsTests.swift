import Foundation
import Testing

@testable import MartletToolSupport

@Suite(.timeLimit(.minutes(10))) struct InterruptionsTests {
    @Test func `one signal → the work after it runs to its end`() async {
        let (signals, signal) = AsyncStream.makeStream(of: Interruptions.Signal.self)
        signal.yield(.init(SIGINT))
        await confirmation { finished in
            await Interruptions.run(after: signals) { finished() }
        }
    }

    // The command `timeout` signals its child twice.
    @Test func `the same signal twice at once → the work after it runs to its end`() async {
        let (signals, signal) = AsyncStream.makeStream(of: Interruptions.Signal.self)
        let time = ContinuousClock.now
        signal.yield(.init(SIGINT, at: time))
        signal.yield(.init(SIGINT, at: time + Interruptions.repetitionInterval - .nanoseconds(1)))
        await confirmation { finished in
            await Interruptions.run(after: signals) {
                for _ in 0..<100 { await Task.yield() }
                finished()
            }
        }
    }

    @Test func `the same signal again after the interval → the process ends with the code of the signal`() async {
        await #expect(processExitsWith: .exitCode(128 + SIGINT)) {
            let (signals, signal) = AsyncStream.makeStream(of: Interruptions.Signal.self)
            let time = ContinuousClock.now
            signal.yield(.init(SIGINT, at: time))
            await Interruptions.run(after: signals) {
                signal.yield(.init(SIGINT, at: time + Interruptions.repetitionInterval))
                while true { await Task.yield() }
            }
        }
    }

    // The test runs in a separate process, which the signal ends.
    @Test func `a second signal during work without an end → the process ends with the code of the signal`() async {
        await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
            let (signals, signal) = AsyncStream.makeStream(of: Interruptions.Signal.self)
            signal.yield(.init(SIGINT))
            await Interruptions.run(after: signals) {
                signal.yield(.init(SIGTERM))
                // A suspended task would be reported as a leak at the end of the process.
                while true { await Task.yield() }
            }
        }
    }
}
