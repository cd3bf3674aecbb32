import Martlet
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct CardLinesTests {
    private static func change(
        _ status: CardStatus, _ details: [StatusCard.Detail] = [], time: UInt64? = nil, url: String? = nil
    ) throws -> CardBoard.Change {
        var board = CardBoard()
        let card = try StatusCard(
            id: CardID("build-7")!, title: "Build 7", status: status, details: details, time: time, url: url)
        let id = MessageID(sender: "bot", device: DeviceID(rawValue: 1), counter: 1)
        let change = board.apply(.card(card), of: id, at: 4, acceptedAt: 1_700_000_000_000)
        return try #require(change)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `a card → its status, title, name, account, time, details and page`() throws {
        let change = try Self.change(.failed, [.init("branch", "main")], url: "https://ci.example/7")
        #expect(
            Self.text(CardLines.text(change, isTerminal: false)) == """
                failed  Build 7
                    build-7 of bot, 2023-11-14T22:13:20Z
                    branch: main
                    https://ci.example/7

                """)
        guard case .shown(let entry) = change else { return }
        let line = CardLines.lines(entry)[0]
        #expect(line.sequences(showsColors: true).hasPrefix("\u{1B}[31mfailed\u{1B}[0m"))
        #expect(!line.sequences(showsColors: false).contains("[31m"))
        let key = CardBoard.Change.removed(entry.id)
        #expect(Self.text(CardLines.text(key, isTerminal: false)) == "removed  build-7 of bot\n")
        #expect(Self.text(CardLines.json(key)) == #"{"account":"bot","id":"build-7","status":"removed"}"# + "\n")
    }

    @Test func `a card → a JSON object with its own time, or that of the message`() throws {
        let json = try Self.text(CardLines.json(Self.change(.ok, [.init("k", "\"")], time: 5, url: "http://a")))
        #expect(
            json == #"{"account":"bot","offset":4,"id":"build-7","title":"Build 7","status":"ok","details":["#
                + #"{"key":"k","value":"\""}],"url":"http://a","time":5}"# + "\n")
        #expect(
            try Self.text(CardLines.json(Self.change(.ok))).hasSuffix(#""details":[],"time":1700000000000}"# + "\n"))
    }
}
