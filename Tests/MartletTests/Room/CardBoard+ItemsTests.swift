import MartletWire
import Testing

@testable import Martlet

@Suite("Boards of cards, by items of a room")
struct CardBoardItemsTests {
    private let log = LogID(rawValue: 1)

    private func message(_ offset: UInt64, _ content: MessageContent, by account: AccountName = "ada") -> RoomItem {
        .message(
            RoomMessage(
                id: MessageID(sender: account, device: DeviceID(rawValue: 7), counter: offset),
                at: RoomCursor(log: log, offset: offset), content: content, acceptedAt: 1000))
    }

    private func card(_ name: String, _ offset: UInt64) throws -> RoomItem {
        message(offset, try OutgoingMessage.card(StatusCard(id: CardID(name)!, title: "t", status: .ok)).content)
    }

    // M-43
    @Test func `cards, a text, a damaged card and a gap → the cards`() throws {
        var board = CardBoard()
        #expect(board.apply(try card("a", 1)) == [.shown(board.cards[0])])
        #expect(board.apply(message(2, MessageContent(text: "b"))).isEmpty)
        #expect(board.apply(message(3, try MessageContent(kind: .card, bytes: []))).isEmpty)
        #expect(board.apply(.gap(4...6)).isEmpty)
        _ = board.apply(try card("b", 7))
        #expect(board.cards.map(\.card.id.text) == ["b", "a"])
    }

    // M-9, M-43
    @Test func `a deletion by another account → the card is removed if the account is a moderator`() throws {
        let target = MessageReference(MessageID(sender: "ada", device: DeviceID(rawValue: 7), counter: 1), offset: 1)
        let deletion = try MessageBody.delete(target).content
        for account in ["server", "eve"] as [AccountName] {
            var board = CardBoard()
            _ = board.apply(try card("a", 1))
            let changes = board.apply(message(2, deletion, by: account)) { $0 == "server" }
            #expect(changes.count == (account == "server" ? 1 : 0) && board.cards.count == 1 - changes.count)
            var strict = CardBoard()
            _ = strict.apply(try card("a", 1))
            #expect(strict.apply(message(2, deletion, by: account)).isEmpty)
        }
    }

    //
    @Test func `a replaced log that has lost messages → their cards are removed; a copy with all of them → none`()
        throws
    {
        var board = CardBoard()
        for offset in 1...3 { _ = board.apply(try card("\(offset)", UInt64(offset))) }
        let (at2, at3) = (RoomCursor(log: log, offset: 2), RoomCursor(log: log, offset: 3))
        #expect(board.apply(.logReplaced(previous: at3, current: at3)).isEmpty && board.cards.count == 3)
        #expect(board.apply(.logReplaced(previous: at3, current: at2)).count == 1)
        #expect(board.cards.map(\.offset) == [2, 1])
    }
}
