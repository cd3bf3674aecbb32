import MartletLink
import Testing

@testable import MartletPostgres

@Suite struct PostgresMachineTests {
    private func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    private func idle(at now: Instant) -> PostgresMachine {
        var machine = PostgresMachine(PostgresMachine.Deadlines(), now: now)
        #expect(machine.expired(now: now, random: 0) == .connect)
        machine.connected()
        return machine
    }

    @Test func `a new machine → connects at once, and is idle when it is connected`() {
        var machine = PostgresMachine(PostgresMachine.Deadlines(), now: at(5))
        #expect(machine.deadline == at(5) && !machine.isIdle)
        #expect(machine.expired(now: at(4), random: 0) == .nothing)
        #expect(machine.expired(now: at(5), random: 0) == .connect)
        #expect(machine.deadline == at(10_005))
        machine.connected()
        #expect(machine.isIdle && machine.deadline == nil)
    }

    @Test func `a statement without an answer → the connection ends at the deadline, and is made again at once`() {
        var machine = idle(at: at(0))
        machine.send(now: at(100))
        #expect(!machine.isIdle && machine.deadline == at(15_100))
        #expect(machine.expired(now: at(15_099), random: 0) == .nothing)
        #expect(machine.expired(now: at(15_100), random: 0) == .disconnect)
        #expect(machine.deadline == at(15_100))
        #expect(machine.expired(now: at(15_100), random: 0) == .connect)
    }

    @Test func `an answer → the deadline is void`() {
        var machine = idle(at: at(0))
        machine.send(now: at(100))
        machine.answered()
        #expect(machine.isIdle && machine.expired(now: at(99_000), random: 0) == .nothing)
    }

    @Test func `repeated failures → pauses that double up to the maximum, with a random half`() {
        var machine = idle(at: at(0))
        var now = at(0)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            #expect(machine.broken(now: now, random: .max) == .disconnect)
            pauses.append((machine.deadline ?? now) - now)
            now = machine.deadline ?? now
            #expect(machine.expired(now: now, random: 0) == .connect)
        }
        let rounded = pauses.map { Int(($0 / .milliseconds(1)).rounded()) }
        #expect(rounded == [0, 100, 200, 400, 800, 1600, 3000, 3000])
        #expect(machine.broken(now: now, random: 0) == .disconnect)
        #expect((machine.deadline ?? now) - now == .milliseconds(1500))
    }

    @Test func `connected but without an answer → the pauses go on; after an answer they begin again`() {
        var machine = idle(at: at(0))
        for failure in 0..<3 {
            machine.send(now: at(0))
            #expect(machine.broken(now: at(0), random: .max) == .disconnect)
            #expect((machine.deadline == at(0)) == (failure == 0))
            #expect(machine.expired(now: at(1000), random: 0) == .connect)
            machine.connected()
        }
        machine.send(now: at(0))
        machine.answered()
        #expect(machine.broken(now: at(0), random: .max) == .disconnect && machine.deadline == at(0))
    }

    @Test func `an attempt that does not end → ends at its deadline`() {
        var machine = PostgresMachine(PostgresMachine.Deadlines(), now: at(0))
        #expect(machine.expired(now: at(0), random: 0) == .connect)
        #expect(machine.expired(now: at(10_000), random: 0) == .disconnect)
        machine.connected()
        #expect(!machine.isIdle)
    }

    @Test func `closed → nothing happens any more`() {
        var machine = idle(at: at(0))
        #expect(machine.close() == .disconnect)
        machine.send(now: at(0))
        machine.connected()
        #expect(machine.broken(now: at(0), random: 0) == .nothing && machine.deadline == nil && !machine.isIdle)
        #expect(machine.close() == .nothing)
    }
}
