import Martlet
import MartletLink
import MartletWire

/// The log of a room, with its messages in the order of their offsets, and the messages of this device without an
/// outcome.
struct TimelineLog {
    static let account: AccountName = "ada"
    private static let log = LogID(rawValue: 0xA)
    private static let device = DeviceID(rawValue: 7)

    let room: RoomName
    private(set) var items: [RoomItem] = []
    /// The messages that can be changed.
    private var targets: [MessageID] = []
    private(set) var pending: [(id: MessageID, content: MessageContent)] = []
    private var counter: UInt64 = 0

    init(room: RoomName) {
        self.room = room
    }

    private var next: UInt64 { UInt64(items.count) + 1 }
    var cursor: RoomCursor { RoomCursor(log: Self.log, offset: UInt64(items.count)) }

    private mutating func append(_ id: MessageID, _ content: MessageContent) -> UInt64 {
        let offset = next
        items.append(
            .message(
                RoomMessage(
                    id: id, at: RoomCursor(log: Self.log, offset: offset), content: content, acceptedAt: 1000 + offset))
        )
        if content.kind == .text { targets.append(id) }
        return offset
    }

    private mutating func id(_ sender: AccountName) -> MessageID {
        counter += 1
        return MessageID(sender: sender, device: Self.device, counter: counter)
    }

    /// A text of two words, or a change of a message.
    private func content(_ sender: AccountName, _ random: inout SeededRandom) -> MessageContent {
        let text = "word\(random.next() % 1000) other\(random.next() % 10)"
        let own = targets.filter { $0.sender == sender }
        let body: MessageBody? =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: own.randomElement(using: &random).map { .edit(of: MessageReference($0), text: text) }
            case 1: own.randomElement(using: &random).map { .delete(MessageReference($0)) }
            case 2, 3:
                targets.randomElement(using: &random).map {
                    .reaction("+", to: MessageReference($0), isRemoved: Bool.random(using: &random))
                }
            default: nil
            }
        return (try? body?.content) ?? MessageContent(text: text)
    }

    /// Others publish messages.
    mutating func publish(_ random: inout SeededRandom) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let sender: AccountName = ["bob", "carol"].randomElement(using: &random) ?? "bob"
            _ = append(id(sender), content(sender, &random))
        }
    }

    /// A message of this device.
    mutating func queue(_ random: inout SeededRandom) -> (id: MessageID, content: MessageContent) {
        let message = (id: id(Self.account), content: content(Self.account, &random))
        pending.append(message)
        return message
    }

    /// Another content of a message that was not accepted; nil if there is none.
    mutating func edit(_ random: inout SeededRandom) -> (id: MessageID, content: MessageContent)? {
        guard let index = pending.indices.filter({ pending[$0].content.kind == .text }).randomElement(using: &random)
        else { return nil }
        pending[index].content = MessageContent(text: "word\(random.next() % 1000) edited")
        return pending[index]
    }

    /// The outcome of a message; nil if none waits for one.
    mutating func settle(
        _ random: inout SeededRandom, isAccepted: Bool? = nil
    ) -> (id: MessageID, result: OutboxOutcome.Result)? {
        guard let index = pending.indices.randomElement(using: &random) else { return nil }
        let (id, content) = pending.remove(at: index)
        guard isAccepted ?? (Int.random(in: 0..<3, using: &random) > 0) else {
            let failures: [SendFailure] = [.cancelled, .expired, .closed]
            return (id, .failed(failures.randomElement(using: &random) ?? .expired))
        }
        return (id, .accepted(offset: append(id, content)))
    }

    /// The messages of this device are lost.
    mutating func forgetPending() { pending = [] }
}
