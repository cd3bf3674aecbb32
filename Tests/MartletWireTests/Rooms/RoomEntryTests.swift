import Testing

@testable import MartletWire

@Suite struct RoomEntryTests {
    private let stamp = RelayStamp(
        offset: 3, acceptedAt: 4, sender: AccountName("bob"), device: DeviceID(rawValue: 1))

    // W-102
    @Test("a short message is whole, the text of a long one is shortened, and a long one of another kind is left out")
    func messages() throws {
        var entry = RoomEntry(room: RoomName("lobby"), membership: .joined)
        entry.setMessage(Message(counter: 1, content: MessageContent(text: "hello"), relay: stamp).encode())
        #expect(entry.lastMessage?.text == "hello" && !entry.isShortened)
        let long = String(repeating: "ä", count: 4000)
        entry.setMessage(Message(counter: 1, content: MessageContent(text: long), relay: stamp).encode())
        #expect(entry.lastMessage?.text == String(repeating: "ä", count: 256) && entry.isShortened)
        #expect(entry.lastMessage?.relay == stamp)
        var writer = TLVWriter()
        writer.append(.data, bytes: Array(repeating: 1, count: 5000))
        let content = try MessageContent(kind: .file, bytes: writer.bytes)
        entry.setMessage(Message(counter: 1, content: content, relay: stamp).encode())
        #expect(entry.message == nil && !entry.isShortened)
    }
}
