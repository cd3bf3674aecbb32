import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Pages of history from each kind of store.
@Suite struct HistoryConformanceTests {
    private func page(
        _ position: HistoryQuery.Position, limit: Int, last: UInt64, _ store: any RoomStore
    ) async throws -> [UInt64] {
        var read = HistoryRead(HistoryQuery(position, limit: limit), first: 1, last: last)
        var step = read.next()
        while case .read(let range) = step {
            let history = try await store.read(range, of: .lobby)
            step = read.read(history.entries, first: history.firstOffset)
        }
        guard case .answer(let entries, _) = step else { return [] }
        return entries.map(\.offset)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `a page has the messages beside the offset or from the time`(kind: StoreKind) async throws {
        let store = try await kind.make()
        _ = try await store.load(.lobby)
        var added = entries(1...300)
        for index in added.indices { added[index].acceptedAt = 1000 + UInt64(index / 3) }
        for start in stride(from: 0, to: 300, by: 60) {
            _ = try await store.append(Array(added[start..<start + 60]), to: .lobby)
        }
        for place in [1, 2, 59, 60, 61, 120, 250, 299, 300, 301] as [UInt64] {
            let before = try await page(.before(place), limit: 50, last: 290, store)
            let end = min(place - 1, 290)
            #expect(before == (end == 0 ? [] : Array(end - min(end, 50) + 1...end)))
            let after = try await page(.after(place), limit: 50, last: 290, store)
            #expect(after == (place >= 290 ? [] : Array(place + 1...min(place + 50, 290))))
            let time = added[Int(min(place, 290)) - 1].acceptedAt
            let first = added.firstIndex { $0.acceptedAt >= time }.map { UInt64($0) + 1 }
            #expect(try await page(.acceptedFrom(time), limit: 1, last: 290, store).first == first)
        }
    }
}
