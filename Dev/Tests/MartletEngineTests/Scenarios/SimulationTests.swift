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
    @Test func `scenarios with at least ten requests for history receive pages`() {
        let scenarios = (UInt64(1)...30).map { Scenario(seed: $0) }.filter(\.readsHistory).prefix(4)
        #expect(scenarios.count == 4)
        #expect(scenarios.filter { Simulation.run($0).pageCount == 0 }.map(\.seed) == [])
    }

    // W-62, R-44
    @Test(arguments: UInt64(1)...20)
    func `seed runs without violations on a relay of several loops`(seed: UInt64) {
        let scenario = Scenario(seed: seed, loopCount: 2 + Int(seed % 3))
        let result = Simulation.run(scenario)
        #expect(result.violations.isEmpty)
        if seed <= 5 { #expect(Simulation.run(scenario).traceHash == result.traceHash) }
    }

    // W-62, R-44, R-206, R-207, R-209
    @Test(arguments: UInt64(1)...24)
    func `seed runs without violations on several relays with one store`(seed: UInt64) {
        let scenario = Scenario(seed: seed, relayCount: 2 + Int(seed % 2), loopCount: seed % 3 == 0 ? 2 : 1)
        let result = Simulation.run(scenario)
        #expect(result.violations.isEmpty)
        if seed <= 3 { #expect(Simulation.run(scenario).traceHash == result.traceHash) }
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

    @Test func `scenario of several relays has the steps of one relay and more faults`() {
        let (one, three) = (Scenario(seed: 5), Scenario(seed: 5, relayCount: 3))
        let steps = Set(three.steps.map { "\($0)" })
        #expect(one.steps.allSatisfy { steps.contains("\($0)") })
        #expect(three.faultCount >= one.faultCount + 5 && three.otherStoreDelays.count == 2)
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
    private let log = LogID(rawValue: 7)

    private func id(_ device: UInt64, _ counter: UInt64) -> MessageID {
        MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: device), counter: counter)
    }

    private func entry(_ offset: UInt64, _ id: MessageID, _ text: String = "1.1..") -> LogEntry {
        let stamp = RelayStamp(offset: offset, acceptedAt: 0, sender: id.sender, device: id.device)
        let message = Message(counter: id.counter, kind: .text, content: Message.textContent(text), relay: stamp)
        return LogEntry(
            offset: offset, sender: id.sender, device: id.device, counter: id.counter, acceptedAt: 0,
            body: EncodedBody(message.encode()))
    }

    private func ledger(storing entries: [LogEntry]) -> Ledger {
        let ledger = Ledger { .zero }
        ledger.sending("1.1..", from: 0, in: lobby, as: id(1, 1))
        ledger.sending("1.2..", from: 0, in: lobby, as: id(1, 2))
        ledger.logs.begin(lobby, as: log)
        ledger.stored(entries, in: lobby)
        return ledger
    }

    @Test func `accepted message missing in the store is a violation`() {
        let early = ledger(storing: [])
        early.accepted(id(1, 1), at: 1, in: lobby, of: log)
        #expect(early.violations.map(\.invariant) == [.acceptedIsDurable])
        let valid = ledger(storing: [entry(1, id(1, 1))])
        valid.accepted(id(1, 1), at: 1, in: lobby, of: log)
        valid.accepted(id(1, 1), at: 0, in: lobby, of: log)
        #expect(valid.violations.isEmpty)
    }

    @Test func `message delivered twice, changed or not stored is a violation`() {
        func violations(of text: String, after last: UInt64, storing entries: [LogEntry]) -> [Violation.Invariant] {
            let ledger = ledger(storing: entries)
            ledger.delivered(
                id(1, 1), text, at: RoomCursor(log: log, offset: 1), in: lobby, after: last, to: 2)
            return ledger.violations.map(\.invariant)
        }
        let entries = [entry(1, id(1, 1))]
        #expect(violations(of: "1.1..", after: 1, storing: entries) == [.deliveredOnceInOrder])
        #expect(violations(of: "1.1.!", after: 0, storing: entries) == [.deliveredIsStored])
        #expect(violations(of: "1.1..", after: 0, storing: []) == [.deliveredIsStored])
        #expect(violations(of: "1.1..", after: 0, storing: entries) == [])
    }

    @Test func `message stored twice, out of order, changed or with a gap is a violation`() {
        func violations(_ entries: LogEntry...) -> [Violation.Invariant] {
            ledger(storing: entries).violations.map(\.invariant)
        }
        #expect(violations(entry(1, id(1, 1)), entry(2, id(1, 1))) == [.storedOnceInOrder])
        #expect(violations(entry(1, id(1, 2), "1.2.."), entry(2, id(1, 1))) == [.storedOnceInOrder])
        #expect(violations(entry(1, id(1, 1), "1.1.!")) == [.storedOnceInOrder])
        #expect(violations(entry(2, id(1, 1))) == [.storedOnceInOrder])
        #expect(violations(entry(1, id(1, 1)), entry(2, id(1, 2), "1.2..")) == [])
    }

    @Test func `at the end a queued message in no log, or a refused one in the log, is a violation`() {
        let lost = ledger(storing: [])
        lost.set("1.1..", .isStored)
        lost.checkOutcomes(in: lobby)
        #expect(lost.violations.map(\.invariant) == [.storedOnceInOrder])
        let refused = ledger(storing: [entry(1, id(1, 1))])
        refused.set("1.1..", .isNotStored)
        refused.checkOutcomes(in: lobby)
        #expect(refused.violations.map(\.invariant) == [.refusedLeavesNoTrace])
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
    /// Whether it has so many requests for history that faults do not refuse them all.
    fileprivate var readsHistory: Bool {
        steps.count { if case .readHistory = $0.action { true } else { false } } >= 10
    }
}
