import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct MessageErasureTests {
    private func entry(_ kind: ContentKind = .text, counter: UInt64 = 7) -> LogEntry {
        let content = kind == .text ? Message.textContent("a secret") : []
        let device = DeviceID(rawValue: 3)
        let body = Message.encodeRelay(
            offset: 5, acceptedAt: 11, sender: .alice, device: device,
            clientBody: Message.encodeClient(
                counter: counter, kind: kind, content: content, timeToLive: .seconds(1)
            ).rawBytes)
        return LogEntry(
            offset: 5, sender: .alice, device: device, counter: counter, acceptedAt: 11, body: EncodedBody(body))
    }

    private func erasure(_ sender: AccountName = .alice, counter: UInt64 = 7, offset: UInt64 = 5) -> MessageErasure {
        MessageErasure(
            offset: offset, id: MessageID(sender: sender, device: DeviceID(rawValue: 3), counter: counter))
    }

    // M-37, R-173
    @Test func `an erased entry → the stamp and the counter as before, kind erased, no content`() throws {
        let erased = try #require(erasure().erased(entry()))
        let view = try Message(parsing: erased.body.rawBytes)
        #expect(view.kind == .erased && view.content.bytes == [] && view.counter == 7 && view.timeToLive == nil)
        #expect(
            view.relay == RelayStamp(offset: 5, acceptedAt: 11, sender: .alice, device: DeviceID(rawValue: 3)))
        #expect(erased.offset == 5 && erased.counter == 7 && erased.acceptedAt == 11)
    }

    /// An edit of the message with the counter 7.
    private func edit(at offset: UInt64, by sender: AccountName = .alice) throws -> LogEntry {
        let target = MessageReference(erasure().id)
        let content = try MessageBody.edit(of: target, text: "new").content
        let device = DeviceID(rawValue: 4)
        let body = Message.encodeRelay(
            offset: offset, acceptedAt: 12, sender: sender, device: device,
            clientBody: Message(counter: offset, content: content).encode().rawBytes)
        return LogEntry(
            offset: offset, sender: sender, device: device, counter: offset, acceptedAt: 12, body: EncodedBody(body))
    }

    //
    @Test func `an edit by the author behind the message → erased; an earlier one, one by another account → nil`()
        throws
    {
        let erased = try #require(erasure().erased(edit(at: 6)))
        let content = try Message(parsing: erased.body.rawBytes).content
        #expect(content.kind == .edit && content.isErased && erased.offset == 6 && erased.counter == 6)
        #expect(erasure(offset: 0).erased(erased) == nil)
        let own = MessageID(sender: .alice, device: erased.device, counter: 6)
        #expect(MessageErasure(offset: 6, id: own).erased(erased) == nil)
        #expect(try erasure(offset: 0).erased(edit(at: 1)) != nil)
        #expect(try erasure().erased(edit(at: 4)) == nil)
        #expect(try erasure().erased(edit(at: 6, by: .bob)) == nil)
        #expect(try erasure(counter: 8).erased(edit(at: 6)) == nil)
        #expect(try edit(at: 6).editTarget == erasure().id && edit(at: 6, by: .bob).editTarget == nil)
        #expect(entry().editTarget == nil)
    }

    //
    @Test func `another identity, a deletion, an erased entry → nil`() throws {
        #expect(erasure(.bob).erased(entry()) == nil)
        #expect(erasure(counter: 8).erased(entry()) == nil)
        #expect(erasure(offset: 6).erased(entry()) == nil)
        #expect(erasure().erased(entry(.delete)) == nil)
        let erased = try #require(erasure().erased(entry()))
        #expect(erasure().erased(erased) == nil)
        // A damaged file can have a counter of 0.
        #expect(erasure(counter: 0).erased(entry(counter: 1)) == nil)
    }

    //
    @Test func `an erased message among others of one storage → the others have their own bodies`() throws {
        let storage = entry().body.bytes + entry(counter: 8).body.bytes
        let half = storage.count / 2
        var rows = LogRows(next: 5)
        rows.append(
            [UInt64(5), 6].map { offset in
                var entry = entry(counter: offset + 2)
                entry.offset = offset
                let start = offset == 5 ? 0 : half
                entry.body = EncodedBody(storage, range: start..<start + half, layout: .unknown, isSummed: true)
                return entry
            }[...])
        rows.erase([erasure(), erasure(offset: 9)])
        rows.erase([erasure(offset: 9)])
        let (first, second) = (try #require(rows[5]?.body), try #require(rows[6]?.body))
        #expect(MessageView.kind(in: first.rawBytes) == .erased && first.checksum != nil)
        #expect(second.bytes == Array(storage[half...]) && second.checksum != nil)
        #expect(rows.count == 2 && rows.byteCount == first.byteCount + second.byteCount)
    }
}
