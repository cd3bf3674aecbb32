import Testing

@testable import MartletWire

@Suite("Boards of cards")
struct CardBoardTests {
    private let ada: AccountName = "ada"
    private let bob: AccountName = "bob"
    private var board = CardBoard()

    private func id(_ counter: UInt64, _ sender: AccountName) -> MessageID {
        MessageID(sender: sender, device: DeviceID(rawValue: 7), counter: counter)
    }

    /// Applies a card whose message has the offset as its counter.
    @discardableResult
    private mutating func card(
        _ name: String, _ status: CardStatus = .ok, by sender: AccountName, at offset: UInt64, time: UInt64? = nil
    ) throws -> CardBoard.Change? {
        let card = try StatusCard(id: CardID(name)!, title: name, status: status, time: time)
        return board.apply(.card(card), of: id(offset, sender), at: offset, acceptedAt: 1000 + offset)
    }

    @discardableResult
    private mutating func deletion(
        of counter: UInt64, _ target: AccountName, by sender: AccountName, at offset: UInt64, isModerator: Bool = false
    ) -> CardBoard.Change? {
        board.apply(
            .delete(MessageReference(id(counter, target))), of: id(offset, sender), at: offset, acceptedAt: 0,
            isModerator: isModerator)
    }

    /// The cards as `account/name:status`.
    private var shown: [String] {
        board.cards.map { "\($0.message.sender)/\($0.card.id):\($0.card.status.name)" }
    }

    private func key(_ name: String, _ account: AccountName) -> CardBoard.Key {
        CardBoard.Key(account: account, card: CardID(name)!)
    }

    // M-43
    @Test
    mutating func `cards of several accounts and names → newest state first`()
        throws
    {
        try card("build", .running, by: ada, at: 1)
        try card("flag", by: ada, at: 2)
        try card("build", .failed, by: bob, at: 3)
        let change = try card("build", by: ada, at: 4)
        #expect(shown == ["ada/build:ok", "bob/build:failed", "ada/flag:ok"])
        #expect(change == .shown(board.cards[0]))
    }

    // M-43
    @Test mutating func `a card with a lower offset → no change, even with a later time`() throws {
        try card("build", .failed, by: ada, at: 5, time: 10)
        #expect(try card("build", .ok, by: ada, at: 4, time: 99) == nil)
        #expect(try card("build", .ok, by: ada, at: 5, time: 99) == nil)
        #expect(shown == ["ada/build:failed"] && board.cards[0].time == 10)
        try card("build", .ok, by: ada, at: 6)
        #expect(shown == ["ada/build:ok"] && board.cards[0].time == 1006)
    }

    // M-43
    @Test
    mutating func
        `the status removed → the card is removed until a later one`() throws
    {
        try card("build", by: ada, at: 1)
        #expect(try card("build", .removed, by: ada, at: 3) == .removed(key("build", ada)))
        #expect(try card("build", .removed, by: ada, at: 4) == nil)
        #expect(try card("build", by: ada, at: 2) == nil)
        #expect(shown.isEmpty)
        try card("build", .running, by: ada, at: 5)
        #expect(shown == ["ada/build:running"])
    }

    // M-43
    @Test
    mutating func `the deletion of the latest message of a card → removed; of an earlier one → no change`()
        throws
    {
        try card("build", by: ada, at: 1)
        try card("build", by: ada, at: 2)
        #expect(deletion(of: 1, ada, by: ada, at: 3) == nil)
        #expect(deletion(of: 2, ada, by: bob, at: 4) == nil)
        #expect(shown == ["ada/build:ok"])
        #expect(deletion(of: 2, ada, by: bob, at: 5, isModerator: true) == .removed(key("build", ada)))
        #expect(shown.isEmpty)
    }

    // M-43
    @Test mutating func `an erased message → its card is removed`() throws {
        try card("build", by: ada, at: 1)
        let change = board.apply(.other(.erased), of: id(1, ada), at: 1, acceptedAt: 0)
        #expect(change == .removed(key("build", ada)) && shown.isEmpty)
    }

    // M-43
    @Test func `cards, a deletion and a removal in any order → the same cards`() throws {
        let steps: [(inout CardBoardTests) throws -> Void] = [
            { try $0.card("a", by: "ada", at: 1) }, { try $0.card("a", .failed, by: "ada", at: 2) },
            { $0.deletion(of: 2, "ada", by: "ada", at: 3) }, { try $0.card("b", by: "ada", at: 4) },
            { try $0.card("b", .removed, by: "ada", at: 5) }, { try $0.card("c", .warning, by: "ada", at: 6) },
        ]
        for order in permutations(Array(steps.indices)) {
            var script = CardBoardTests()
            for index in order { try steps[index](&script) }
            #expect(script.shown == ["ada/c:warning"], "\(order)")
        }
    }

    private func permutations(_ indices: [Int]) -> [[Int]] {
        guard indices.count > 1 else { return [indices] }
        return indices.flatMap { first in permutations(indices.filter { $0 != first }).map { [first] + $0 } }
    }

    // M-43
    @Test mutating func `a text, an edit, a reaction and an attachment → no change`() throws {
        try card("build", by: ada, at: 1)
        let target = MessageReference(id(1, ada))
        for body: MessageBody in [
            .text("a"), .edit(of: target, text: "b"), .reaction("!", to: target, isRemoved: false),
            .reply(to: target, text: "c"), .attachment(Attachment(data: [1])), .other(.image),
        ] {
            #expect(board.apply(body, of: id(2, ada), at: 2, acceptedAt: 0) == nil)
        }
        #expect(shown == ["ada/build:ok"])
    }

    // M-43, Specs/hostile.md row 107
    @Test mutating func `more cards than the bound, removed ones counted → those with the highest offsets`() throws {
        try card("removed", .removed, by: ada, at: 1)
        for offset in 2...UInt64(CardBoard.maxCount) { try card("\(offset)", by: ada, at: offset) }
        #expect(board.cards.count == CardBoard.maxCount - 1)
        try card("next", by: ada, at: 5000)
        #expect(board.cards.count == CardBoard.maxCount)
        try card("last", by: ada, at: 5001)
        #expect(board.cards.count == CardBoard.maxCount && board.cards.last?.offset == 3)
        // A card older than all of them is not shown.
        #expect(try card("old", by: ada, at: 1) == nil)
        #expect(board.cards.count == CardBoard.maxCount && board.cards.last?.offset == 3)
    }

    // M-13
    @Test mutating func `more deletions than are kept → the later half has an effect`() throws {
        let count = UInt64(CardBoard.maxDeletionCount) + 1
        for offset in 1...count { deletion(of: offset, ada, by: ada, at: 20_000 + offset) }
        for counter in [1, count] {
            let card = try StatusCard(id: CardID("\(counter)")!, title: "t", status: .ok)
            _ = board.apply(.card(card), of: id(counter, ada), at: counter, acceptedAt: 0)
        }
        #expect(shown == ["ada/1:ok"])
    }

    //
    @Test mutating func `a log that continues after an offset → the cards beyond it are removed`() throws {
        try card("a", by: ada, at: 1)
        try card("b", by: ada, at: 5)
        try card("c", .removed, by: ada, at: 6)
        #expect(board.truncate(after: 4) == [.removed(key("b", ada))])
        #expect(shown == ["ada/a:ok"])
        try card("b", .failed, by: ada, at: 5)
        try card("c", .failed, by: ada, at: 6)
        #expect(shown == ["ada/c:failed", "ada/b:failed", "ada/a:ok"])
    }
}
