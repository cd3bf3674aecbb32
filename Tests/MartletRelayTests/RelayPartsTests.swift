import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct RelayPartsTests {
    @Test func `appends that succeed after one that failed → one event`() throws {
        let log = EventLog()
        let parts = RelayParts(
            try Relay.Configuration(port: 0), InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, log.note)
        func recoveredCount() -> Int { log.all.count { if case .storeRecovered = $0 { true } else { false } } }
        parts.appendEnded(StoreAnswer<UInt64>.done(1))
        #expect(recoveredCount() == 0)
        for _ in 0..<2 { parts.appendEnded(StoreAnswer<UInt64>.failed) }
        parts.appendEnded(StoreAnswer<UInt64>.logLost)
        #expect(recoveredCount() == 0)
        for _ in 0..<2 { parts.appendEnded(StoreAnswer<UInt64>.done(1)) }
        #expect(recoveredCount() == 1)
    }
}
