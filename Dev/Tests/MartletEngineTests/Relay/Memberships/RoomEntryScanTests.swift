import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomEntryScanTests {
    private let ada = AccountName("ada")

    private func entry(_ offset: UInt64, _ content: MessageContent, by sender: String = "bob") -> LogEntry {
        let (sender, device) = (AccountName(sender)!, DeviceID(rawValue: 7))
        let stamp = RelayStamp(offset: offset, acceptedAt: 1, sender: sender, device: device)
        let body = Message(counter: offset, content: content, relay: stamp).encode()
        return LogEntry(
            offset: offset, sender: sender, device: device, counter: offset, acceptedAt: 1, body: EncodedBody(body))
    }

    private func reference(_ counter: UInt64, _ sender: String = "bob") -> MessageReference {
        MessageReference(MessageID(sender: AccountName(sender)!, device: DeviceID(rawValue: 7), counter: counter))
    }

    /// The entry of ada, and the number of messages that were read for it.
    private func scan(_ log: [LogEntry], read: UInt64 = 0) -> (entry: RoomEntry, count: Int) {
        var entry = RoomEntry(
            room: RoomName("lobby"), membership: .joined, lastOffset: log.last?.offset ?? 0, read: read)
        var scan = RoomEntryScan(of: ada, entry)
        var count = 0
        for message in log.reversed() {
            count += 1
            guard scan.add(message) else { break }
        }
        scan.finish(&entry)
        return (entry, count)
    }

    // M-27, M-28
    @Test func `changes, a command and a system message behind a text -> one unread message, and the text or event`()
        throws
    {
        var log = [entry(1, MessageContent(text: "hello"))]
        let changes: [MessageBody] = [
            .reaction("!", to: reference(1), isRemoved: false), .edit(of: reference(9), text: "x"),
            .delete(reference(9)), .command(.null),
        ]
        for body in changes { log.append(entry(UInt64(log.count + 1), try body.content)) }
        #expect(scan(log).entry.unreadCount == 1 && scan(log).entry.lastMessage?.text == "hello")
        log.append(entry(6, try MessageBody.system(event: EventName("joined")!, text: nil).content))
        #expect(scan(log).entry.unreadCount == 1 && scan(log).entry.lastMessage?.kind == .system)
    }

    // M-27
    @Test(arguments: [
        ContentKind.text, .image, .file, .audio, .video, .location, .contact, .reply, .attachment,
        ContentKind(rawValue: 0xF123),
    ])
    func `kinds that people read -> unread and listed`(kind: ContentKind) {
        #expect(kind.countsAsUnread && kind.isListed)
    }

    // M-28, M-9
    @Test func `edits of the last message -> the text of the latest one of its author`() throws {
        let log = [
            entry(1, MessageContent(text: "first")),
            entry(2, try MessageBody.edit(of: reference(1), text: "second").content),
            entry(3, try MessageBody.edit(of: reference(1), text: "third").content),
            entry(4, try MessageBody.edit(of: reference(1), text: "forged").content, by: "eve"),
        ]
        let found = scan(log).entry
        #expect(found.lastMessage?.text == "third" && found.lastMessage?.relay?.offset == 1)
    }

    // M-27
    @Test func `messages beyond the newest 256 offsets -> neither counted nor shown`() throws {
        var log = [entry(1, MessageContent(text: "far"))]
        for offset in 2...257 {
            log.append(entry(UInt64(offset), try MessageBody.reaction("!", to: reference(1), isRemoved: false).content))
        }
        #expect(scan(log).entry.unreadCount == 0 && scan(log).entry.message == nil && scan(log).count == 256)
        #expect(scan(Array(log.dropLast())).entry.unreadCount == 1)
    }

    // M-27
    @Test func `a room that was read -> only its last message is read from the log`() {
        let log = (1...200).map { entry($0, MessageContent(text: "\($0)")) }
        #expect(scan(log, read: 200).count == 1 && scan(log, read: 200).entry.unreadCount == 0)
        #expect(scan(log, read: 190).count == 10 && scan(log, read: 190).entry.unreadCount == 10)
        #expect(scan(log).count == 100 && scan(log).entry.unreadCount == 100)
    }

    @Test func `bodies that cannot be parsed -> counted, and the last one is the last message`() {
        let broken = LogEntry(
            offset: 1, sender: AccountName("bob"), device: DeviceID(rawValue: 7), counter: 1, acceptedAt: 1,
            body: EncodedBody([1, 2, 3]))
        #expect(scan([broken]).entry.unreadCount == 1 && scan([broken]).entry.message == [1, 2, 3])
    }
}
