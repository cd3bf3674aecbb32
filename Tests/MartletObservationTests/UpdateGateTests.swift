import Testing

@testable import MartletObservation

@Suite("Combination of updates")
@MainActor
struct UpdateGateTests {
    private let clock = VirtualClock()

    @Test func `updates within an interval → one pass for all, after the interval, and none lost`() async throws {
        let gate = UpdateGate(clock)
        var state = 0
        var published: [Int] = []
        await gate.update { published.append(state) }
        #expect(published == [0])
        var begun = 0
        let updates = (1...10).map { number in
            Task { @MainActor in
                state = number
                begun += 1
                await gate.update { published.append(state) }
            }
        }
        while !Task.isCancelled, begun < 10 { await Task.yield() }
        await clock.whenWaiting()
        clock.advance(by: UpdateGate.minInterval)
        for update in updates { await update.value }
        #expect(published.last == 10 && published.count <= 3)
    }

    @Test func `1,000 updates in a virtual second → at most 61 passes, and the last state`() async throws {
        let gate = UpdateGate(clock)
        var state = 0
        var published: [Int] = []
        var updates = Task {}
        for number in 1...1000 {
            state = number
            let before = updates
            updates = Task { @MainActor in
                await gate.update { published.append(state) }
                await before.value
            }
            await Task.yield()
            clock.advance(by: .milliseconds(1))
        }
        while !Task.isCancelled, published.last != 1000 {
            clock.advance(by: .milliseconds(1))
            await Task.yield()
        }
        await updates.value
        #expect(published.count <= 63 && published.count > 10)
    }

    @Test func `an update during a pass → a further pass, which the waiting call performs`() async throws {
        let gate = UpdateGate(clock)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        var published: [String] = []
        let first = Task { @MainActor in
            await gate.update {
                begin.finish()
                for await _ in released {}
                published.append("first")
            }
        }
        for await _ in begun {}
        var hasBegun = false
        let second = Task { @MainActor in
            hasBegun = true
            await gate.update { published.append("second") }
        }
        while !Task.isCancelled, !hasBegun { await Task.yield() }
        release.finish()
        await first.value
        await clock.whenWaiting()
        #expect(published == ["first"])
        clock.advance(by: UpdateGate.minInterval)
        await second.value
        #expect(published == ["first", "second"])
    }

    @Test func `a cancelled call that waits → no pass, and the next call performs its own`() async throws {
        let gate = UpdateGate(clock)
        var published: [String] = []
        await gate.update { published.append("first") }
        let cancelled = Task { @MainActor in await gate.update { published.append("cancelled") } }
        await clock.whenWaiting()
        cancelled.cancel()
        await cancelled.value
        clock.advance(by: UpdateGate.minInterval)
        await gate.update { published.append("last") }
        #expect(published == ["first", "last"])
    }
}
