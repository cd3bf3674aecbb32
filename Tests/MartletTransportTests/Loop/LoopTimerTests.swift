import MartletTransport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LoopTimerTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `timers fire by deadline and not before it`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let fired = Events<(name: Int, isDue: Bool)>()
            loop.execute {
                for (name, delay) in [(1, 3), (0, 1), (2, 5)] {
                    let deadline = loop.deadline(after: .milliseconds(delay))
                    LoopTimer(on: loop) { fired.send((name, loop.now >= deadline)) }.set(deadline: deadline)
                }
            }
            for expected in 0..<3 {
                let next = await fired.next()
                #expect(next?.name == expected)
                #expect(next?.isDue == true)
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `cleared timer does not fire, and moved timer fires once at its new deadline`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let fired = Events<String>()
            loop.execute {
                let now = loop.now
                let cleared = LoopTimer(on: loop) { fired.send("cleared") }
                cleared.set(deadline: now + 1)
                cleared.set(deadline: nil)
                let later = LoopTimer(on: loop) { fired.send("later") }
                later.set(deadline: now + 1)
                later.set(deadline: now + 5_000_000)
                let earlier = LoopTimer(on: loop) { fired.send("earlier") }
                earlier.set(deadline: now + 60_000_000_000)
                earlier.set(deadline: now + 1_000_000)
                LoopTimer(on: loop) { fired.send("last") }.set(deadline: now + 6_000_000)
            }
            #expect(await fired.next() == "earlier")
            #expect(await fired.next() == "later")
            #expect(await fired.next() == "last")
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `deadline in the past fires in the next turn, also when set by the handler`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let fired = Events<Int>()
            loop.execute {
                var count = 0
                var timer: LoopTimer?
                timer = LoopTimer(on: loop) {
                    count += 1
                    fired.send(count)
                    if count < 100 { timer?.set(deadline: 0) } else { timer = nil }
                }
                timer?.set(deadline: 0)
            }
            for expected in 1...100 { #expect(await fired.next() == expected) }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `captures of a timer are released after it fires`(_ backend: EventLoop.Backend) async throws {
        final class Witness: Sendable {}
        try await withLoop(backend) { loop in
            let fired = Events<Bool>()
            let isGone = await loop.run {
                let witness = Witness()
                LoopTimer(on: loop) { [witness] in
                    fired.send(true); withExtendedLifetime(witness) {}
                }.set(deadline: 0)
                weak let weakWitness = witness
                return { @Sendable in weakWitness == nil }
            }
            #expect(await fired.next() == true)
            await loop.turn(when: isGone)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `captures of an armed timer are released at the loop's shutdown`(_ backend: EventLoop.Backend) async throws {
        final class Witness: Sendable {}
        let loop = try EventLoop(backend: backend, name: "test")
        let isGone = await loop.run {
            let witness = Witness()
            LoopTimer(on: loop) { withExtendedLifetime(witness) {} }.set(deadline: .max - 1)
            weak let weakWitness = witness
            return { @Sendable in weakWitness == nil }
        }
        #expect(!isGone())
        await loop.shutdown()
        #expect(isGone())
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `timer set after the loop's shutdown stays unarmed`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        await loop.shutdown()
        let deadline = await loop.run {
            let timer = LoopTimer(on: loop) {}
            timer.set(deadline: .max - 1)
            return timer.deadline
        }
        #expect(deadline == nil)
    }
}
