import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomBatchTests {
    private let alice = DeviceKey(account: .alice, device: DeviceID(rawValue: 1))

    private func client(_ counter: UInt64, byteCount: Int = 10) -> [UInt8] {
        let content = Message.textContent(String(repeating: "x", count: byteCount))
        return Message.encodeClient(counter: counter, kind: .text, content: content)
    }

    private func publisher(slot: Int32 = 0, room: Int32 = 3) -> MemberHandle {
        let key = MemberKey(link: LinkKey(slot: slot, generation: 1), session: SessionID(rawValue: 1))
        return MemberHandle(room: room, slot: slot, key: key)
    }

    private func begin(_ draft: inout RoomBatch, watermark: UInt64 = 0, at acceptedAt: UInt64, firstOffset: UInt64 = 1)
    {
        draft.begin(
            publisher: publisher(), window: 0, sender: alice, watermark: watermark, acceptedAt: acceptedAt,
            firstOffset: firstOffset)
    }

    private func takes(
        _ draft: borrowing RoomBatch, _ body: [UInt8], _ counter: UInt64 = 100, from slot: Int32 = 0,
        at acceptedAt: UInt64
    ) -> Bool {
        let message = ClientMessage(counter: counter, body: body.rawBytes, layout: .text)
        return draft.takes(message, from: publisher(slot: slot), at: acceptedAt)
    }

    private func append(_ body: [UInt8], _ counter: UInt64, to draft: inout RoomBatch) -> Int {
        draft.append(ClientMessage(counter: counter, body: body.rawBytes, layout: .text))
    }

    private func entries(of draft: inout RoomBatch) -> [LogEntry] {
        var result: [LogEntry] = []
        draft.close(into: &result, areSummed: true)
        return result
    }

    //
    @Test func `appended messages give entries with consecutive offsets and complete bodies`() throws {
        var draft = RoomBatch()
        begin(&draft, at: 77, firstOffset: 5)
        for counter in [8, 9, 12] as [UInt64] {
            let body = client(counter)
            let isTaken = takes(draft, body, counter, at: 77)
            #expect(isTaken)
            _ = append(body, counter, to: &draft)
        }
        let room = draft.room
        #expect(room == 3)
        let entries = entries(of: &draft)
        let closed = draft.room
        #expect(closed == nil)
        #expect(entries.map(\.offset) == [5, 6, 7] && entries.map(\.counter) == [8, 9, 12])
        for entry in entries {
            let whole = Message.encodeRelay(
                offset: entry.offset, acceptedAt: 77, sender: .alice, device: alice.device,
                clientBody: client(entry.counter).rawBytes)
            #expect(entry.body.bytes == whole && entry.body.byteCount == whole.count)
            let checksum = CRC32.checksum(whole.rawBytes)
            #expect(entry.body.fragment(0).checksum == checksum && entry.body.layout == .delivery)
        }
        let more = self.entries(of: &draft)
        #expect(more.isEmpty)
    }

    @Test func `a message of another member or time, or after closing, is not taken`() {
        var draft = RoomBatch()
        let body = client(1)
        var taken = [takes(draft, body, at: 0)]
        begin(&draft, at: 1)
        taken.append(takes(draft, body, from: 1, at: 1))
        taken.append(takes(draft, body, at: 2))
        taken.append(takes(draft, body, at: 1))
        #expect(taken == [false, false, false, true])
    }

    //
    @Test func `a counter up to the watermark or the last counter is not taken`() {
        var draft = RoomBatch()
        begin(&draft, watermark: 20, at: 1)
        _ = append(client(15), 15, to: &draft)
        var taken = [16, 20, 21].map { takes(draft, client($0), $0, at: 1) }
        #expect(taken == [false, false, true])
        _ = append(client(21), 21, to: &draft)
        taken = [21, 22, 30].map { takes(draft, client($0), $0, at: 1) }
        #expect(taken == [false, true, true])
    }

    //
    @Test func `bodies share a bounded storage, and a long body has its own`() {
        var draft = RoomBatch()
        begin(&draft, at: 1)
        let small = client(1, byteCount: 900)
        var byteCount = 0
        while takes(draft, small, at: 1) { byteCount += append(small, 1, to: &draft) }
        #expect(byteCount <= RoomBatch.maxByteCount && byteCount > RoomBatch.maxByteCount - 1100)
        _ = entries(of: &draft)
        begin(&draft, at: 1, firstOffset: 9)
        let long = client(1, byteCount: 40_000)
        let isLongTaken = takes(draft, long, at: 1)
        _ = append(long, 1, to: &draft)
        let isSmallTaken = takes(draft, small, at: 1)
        #expect(!isLongTaken && !isSmallTaken)
        let alone = entries(of: &draft)
        #expect(alone.count == 1 && alone[0].body.fragmentCount == 3)
    }
}
