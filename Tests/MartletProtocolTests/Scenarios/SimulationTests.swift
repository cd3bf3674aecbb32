import MartletProtocol
import MartletWire
import Testing

@testable import MartletTestKit

/// The simulator keeps its own promises: stories are as rich as they say, runs repeat, broken promises are noticed.
@Suite struct SimulationTests {
    // W-62, R-44
    @Test(arguments: UInt64(1)...40) func `every promise is kept, and the same seed gives the same run`(seed: UInt64) {
        let result = Simulation.play(Story(seed: seed))
        #expect(result.violations.isEmpty)
        if seed <= 10 { #expect(Simulation.play(Story(seed: seed), keepsTrace: true).traceHash == result.traceHash) }
    }

    // W-62, R-44
    @Test(arguments: UInt64(1)...20)
    func `every promise is kept by a relay of several loops, too`(seed: UInt64) {
        let story = Story(seed: seed, loopCount: 2 + Int(seed % 3))
        let result = Simulation.play(story)
        #expect(result.violations.isEmpty)
        if seed <= 5 { #expect(Simulation.play(story).traceHash == result.traceHash) }
    }

    @Test(arguments: UInt64(1)...100) func `a story has 200 messages and 10 faults at the least`(seed: UInt64) {
        let story = Story(seed: seed)
        #expect(story.messageCount >= 200)
        #expect(story.faultCount >= 10)
        #expect((2...5).contains(story.devices.count))
    }

    @Test func `other seeds give other runs`() {
        let hashes = (UInt64(1)...5).map { Simulation.play(Story(seed: $0)).traceHash }
        #expect(Set(hashes).count == 5)
    }

    // MARK: The disk

    @Test func `a crash keeps what was synced and takes only from the end`() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<100 {
            var disk = VirtualDisk<Int>()
            for record in 0..<10 {
                disk.append(record)
                if record == 5 { disk.sync() }
            }
            let lost = disk.crash(&random)
            #expect(disk.records + lost == Array(0..<10))
            #expect(disk.records.count >= 6)
            #expect(!disk.hasUnsynced)
        }
    }

    // MARK: The ledger

    private let lobby = RoomName("lobby")!
    private let key = Ledger.Key(device: 1, counter: 1)

    private func entry(_ offset: UInt64, device: UInt64, counter: UInt64) -> LogEntry {
        LogEntry(
            offset: offset, sender: AccountName("ada")!, device: DeviceID(rawValue: device), counter: counter,
            acceptedAt: 0, body: EncodedBody([]))
    }

    private func message(_ offset: UInt64, _ text: String) -> Message {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 0, sender: AccountName("ada")!, device: DeviceID(rawValue: 1))
        return Message(counter: 1, kind: .text, content: Message.textContent(text), relay: stamp)
    }

    private func said() -> Ledger {
        var ledger = Ledger()
        ledger.said(key, Ledger.Saying(room: lobby, byteCount: 2))
        return ledger
    }

    @Test func `what is accepted must be in the store at that moment`() {
        var ledger = said()
        ledger.accepted(key, offset: 1, in: lobby, log: [], at: .zero)
        #expect(ledger.violations.map(\.promise) == [.acceptedIsDurable])
        var fine = said()
        fine.accepted(key, offset: 1, in: lobby, log: [entry(1, device: 1, counter: 1)], at: .zero)
        fine.accepted(key, offset: 0, in: lobby, log: [entry(1, device: 1, counter: 1)], at: .zero)
        #expect(fine.violations.isEmpty)
    }

    @Test func `a message that is shown twice, changed, or not stored is noticed`() {
        let log = [entry(1, device: 1, counter: 1)]
        var twice = said()
        twice.shown(message(1, "1.1.."), in: lobby, after: 1, log: log, to: 2, at: .zero)
        #expect(twice.violations.map(\.promise) == [.shownOnceInOrder])
        var changed = said()
        changed.shown(message(1, "1.1.!"), in: lobby, after: 0, log: log, to: 2, at: .zero)
        #expect(changed.violations.map(\.promise) == [.shownIsStored])
        var early = said()
        early.shown(message(1, "1.1.."), in: lobby, after: 0, log: [], to: 2, at: .zero)
        #expect(early.violations.map(\.promise) == [.shownIsStored])
        var fine = said()
        fine.shown(message(1, "1.1.."), in: lobby, after: 0, log: log, to: 2, at: .zero)
        #expect(fine.violations.isEmpty)
    }

    @Test func `a store with a message twice, out of order, or with less than before is noticed`() {
        var twice = Ledger()
        twice.look(at: [lobby: [entry(1, device: 1, counter: 1), entry(2, device: 1, counter: 1)]], at: .zero)
        #expect(twice.violations.map(\.promise) == [.storedOnceInOrder])
        var back = Ledger()
        back.look(at: [lobby: [entry(1, device: 1, counter: 2), entry(2, device: 1, counter: 1)]], at: .zero)
        #expect(back.violations.map(\.promise) == [.storedOnceInOrder])
        var less = Ledger()
        less.look(at: [lobby: [entry(1, device: 1, counter: 1)]], at: .zero)
        less.look(at: [lobby: []], at: .zero)
        #expect(less.violations.map(\.promise) == [.acceptedIsDurable])
    }

    // MARK: The shrinker

    @Test func `a story shrinks to the steps that its failure needs`() {
        let story = Story(seed: 3)
        let needed = [story.steps[4].at, story.steps[40].at]
        var shrinker = Shrinker { candidate in needed.allSatisfy { at in candidate.steps.contains { $0.at == at } } }
        let short = shrinker.shrink(story)
        #expect(short.steps.map(\.at) == needed)
        #expect(shrinker.runCount < Shrinker.maxRunCount)
    }
}
