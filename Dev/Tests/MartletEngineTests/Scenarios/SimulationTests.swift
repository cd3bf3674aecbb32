import MartletLink
import MartletWire
import Testing

@testable import MartletSimulator

/// Tests of the simulator: the size of scenarios, the reproducibility of runs, and the detection of violations.
@Suite struct SimulationTests {
    // W-62, R-44
    @Test(arguments: UInt64(1)...40) func `seed runs without violations, and twice with the same trace`(seed: UInt64) {
        let result = Simulation.run(Scenario(seed: seed))
        #expect(result.violations.isEmpty)
        if seed <= 10 { #expect(Simulation.run(Scenario(seed: seed), keepsTrace: true).traceHash == result.traceHash) }
    }

    //
    @Test func `scenarios with requests for history receive pages`() {
        let counts = (UInt64(1)...30).map { Scenario(seed: $0) }.filter(\.readsHistory).prefix(4).map { scenario in
            Simulation.run(scenario).pageCount
        }
        #expect(counts.count == 4 && counts.allSatisfy { $0 > 0 })
    }

    // W-62, R-44
    @Test(arguments: UInt64(1)...20)
    func `seed runs without violations on a relay of several loops`(seed: UInt64) {
        let scenario = Scenario(seed: seed, loopCount: 2 + Int(seed % 3))
        let result = Simulation.run(scenario)
        #expect(result.violations.isEmpty)
        if seed <= 5 { #expect(Simulation.run(scenario).traceHash == result.traceHash) }
    }

    @Test(arguments: UInt64(1)...100) func `scenario has at least 200 messages and 10 faults`(seed: UInt64) {
        let scenario = Scenario(seed: seed)
        #expect(scenario.messageCount >= 200)
        #expect(scenario.faultCount >= 10)
        #expect((2...5).contains(scenario.devices.count))
    }

    @Test func `scenarios of different seeds end with different steps`() {
        let ends = (UInt64(1)...300).map { Scenario(seed: $0).steps.suffix(5).map { "\($0.action)" } }
        #expect(Set(ends).count == 300)
    }

    @Test func `different seeds give different traces`() {
        let hashes = (UInt64(1)...5).map { Simulation.run(Scenario(seed: $0)).traceHash }
        #expect(Set(hashes).count == 5)
    }

    // MARK: - Disk

    @Test func `crash keeps synced records and removes others from the end only`() {
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

    // MARK: - Ledger

    private let lobby = RoomName("lobby")
    private let key = Ledger.Key(device: 1, counter: 1)

    private func entry(_ offset: UInt64, device: UInt64, counter: UInt64) -> LogEntry {
        LogEntry(
            offset: offset, sender: AccountName("ada"), device: DeviceID(rawValue: device), counter: counter,
            acceptedAt: 0, body: EncodedBody([]))
    }

    private func message(_ offset: UInt64, _ text: String) -> Message {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 0, sender: AccountName("ada"), device: DeviceID(rawValue: 1))
        return Message(counter: 1, kind: .text, content: Message.textContent(text), relay: stamp)
    }

    private func ledgerWithMessage() -> Ledger {
        var ledger = Ledger()
        ledger.published(key, Ledger.Expectation(room: lobby, byteCount: 2))
        return ledger
    }

    @Test func `accepted message missing in the store is a violation`() {
        var ledger = ledgerWithMessage()
        ledger.accepted(key, offset: 1, in: lobby, log: [], at: .zero)
        #expect(ledger.violations.map(\.invariant) == [.acceptedIsDurable])
        var valid = ledgerWithMessage()
        valid.accepted(key, offset: 1, in: lobby, log: [entry(1, device: 1, counter: 1)], at: .zero)
        valid.accepted(key, offset: 0, in: lobby, log: [entry(1, device: 1, counter: 1)], at: .zero)
        #expect(valid.violations.isEmpty)
    }

    @Test func `message delivered twice, changed or not stored is a violation`() {
        let log = [entry(1, device: 1, counter: 1)]
        var twice = ledgerWithMessage()
        twice.delivered(message(1, "1.1.."), in: lobby, after: 1, log: log, to: 2, at: .zero)
        #expect(twice.violations.map(\.invariant) == [.deliveredOnceInOrder])
        var changed = ledgerWithMessage()
        changed.delivered(message(1, "1.1.!"), in: lobby, after: 0, log: log, to: 2, at: .zero)
        #expect(changed.violations.map(\.invariant) == [.deliveredIsStored])
        var early = ledgerWithMessage()
        early.delivered(message(1, "1.1.."), in: lobby, after: 0, log: [], to: 2, at: .zero)
        #expect(early.violations.map(\.invariant) == [.deliveredIsStored])
        var valid = ledgerWithMessage()
        valid.delivered(message(1, "1.1.."), in: lobby, after: 0, log: log, to: 2, at: .zero)
        #expect(valid.violations.isEmpty)
    }

    @Test func `message stored twice, out of order or removed is a violation`() {
        var twice = Ledger()
        twice.check([lobby: [entry(1, device: 1, counter: 1), entry(2, device: 1, counter: 1)]], at: .zero)
        #expect(twice.violations.map(\.invariant) == [.storedOnceInOrder])
        var reordered = Ledger()
        reordered.check([lobby: [entry(1, device: 1, counter: 2), entry(2, device: 1, counter: 1)]], at: .zero)
        #expect(reordered.violations.map(\.invariant) == [.storedOnceInOrder])
        var shrunk = Ledger()
        shrunk.check([lobby: [entry(1, device: 1, counter: 1)]], at: .zero)
        shrunk.check([lobby: []], at: .zero)
        #expect(shrunk.violations.map(\.invariant) == [.acceptedIsDurable])
    }

    // MARK: - Shrinker

    @Test func `scenario shrinks to the steps that its failure needs`() {
        let scenario = Scenario(seed: 3)
        let needed = [scenario.steps[4].at, scenario.steps[40].at]
        var shrinker = Shrinker { candidate in needed.allSatisfy { at in candidate.steps.contains { $0.at == at } } }
        let short = shrinker.shrink(scenario)
        #expect(short.steps.map(\.at) == needed)
        #expect(shrinker.runCount < Shrinker.maxRunCount)
    }
}

extension Scenario {
    fileprivate var readsHistory: Bool {
        steps.contains { if case .readHistory = $0.action { true } else { false } }
    }
}
