import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct RelayPartsTests {
    @Test func `appends that succeed after one that failed → one event`() throws {
        let log = EventLog()
        let parts = RelayParts(
            try Relay.Configuration(port: 0), InMemoryStore(), .allowAll, .allowAll, nil, nil, nil, nil, nil, log.note)
        func answer(_ result: Result<UInt64, RoomStoreError>) -> StoreAnswer {
            .append("lobby", upTo: 1, messageCount: 1, result)
        }
        func recoveredCount() -> Int { log.all.count { if case .storeRecovered = $0 { true } else { false } } }
        parts.note(answer(.success(1)))
        #expect(recoveredCount() == 0)
        for _ in 0..<2 { parts.note(answer(.failure(.unanswered))) }
        parts.note(answer(.failure(.logLost)))
        #expect(recoveredCount() == 0)
        for _ in 0..<2 { parts.note(answer(.success(1))) }
        #expect(recoveredCount() == 1)
    }
}
