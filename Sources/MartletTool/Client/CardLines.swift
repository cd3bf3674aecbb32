import Martlet
import MartletToolSupport

/// The output of cards: the same lines for every source, or a JSON object in a line.
enum CardLines {
    /// Returns the lines of a card: its status and title, its name, account and time, its details, and its page.
    static func lines(_ entry: CardBoard.Entry) -> [StyledLine] {
        let card = entry.card
        var head = StyledLine(card.status.name, style(of: card.status))
        head.append("  ")
        head.append(SafeText.line(card.title), .bold)
        let time = "\(ClockText.utc(Int64(clamping: entry.time / 1000)))Z"
        let name = "\(SafeText.line(card.id.text)) of \(SafeText.line(entry.message.sender.text))"
        var lines = [head, StyledLine("    \(name), \(time)", .dim)]
        lines += card.details.map { StyledLine("    \(SafeText.line($0.key)): \(SafeText.line($0.value))") }
        if let url = card.url { lines.append(StyledLine("    \(SafeText.line(url))")) }
        return lines
    }

    /// Returns the output of a change of a board. Styles are written to a terminal only.
    static func text(_ change: CardBoard.Change, isTerminal: Bool) -> [UInt8] {
        let lines =
            switch change {
            case .shown(let entry): lines(entry)
            case .removed(let key):
                [StyledLine("removed  \(SafeText.line(key.card.text)) of \(SafeText.line(key.account.text))")]
            }
        let showsColors = Terminal.showsColors
        return lines.flatMap { line in
            Array("\(isTerminal ? line.sequences(showsColors: showsColors) : line.text)\n".utf8)
        }
    }

    /// Returns a change of a board as a JSON object in a line.
    static func json(_ change: CardBoard.Change) -> [UInt8] {
        var members: [JSONLine.Member]
        switch change {
        case .shown(let entry):
            members = [.init("account", .string(entry.message.sender.text)), .init("offset", .count(entry.offset))]
            members += fields(of: entry.card)
            if entry.card.time == nil { members.append(.init("time", .count(entry.time))) }
        case .removed(let key):
            members = [
                .init("account", .string(key.account.text)), .init("id", .string(key.card.text)),
                .init("status", .string(CardStatus.removed.name)),
            ]
        }
        return Array("\(JSONLine.object(members).text)\n".utf8)
    }

    /// The members of a card.
    static func fields(of card: StatusCard) -> [JSONLine.Member] {
        let details = card.details.map { detail in
            JSONLine.object([.init("key", .string(detail.key)), .init("value", .string(detail.value))])
        }
        var members: [JSONLine.Member] = [
            .init("id", .string(card.id.text)), .init("title", .string(card.title)),
            .init("status", .string(card.status.name)), .init("details", .array(details)),
        ]
        if let url = card.url { members.append(.init("url", .string(url))) }
        if let time = card.time { members.append(.init("time", .count(time))) }
        return members
    }

    private static func style(of status: CardStatus) -> Style {
        switch status {
        case .ok: .green
        case .running: .blue
        case .warning: .yellow
        case .failed: .red
        case .unknown, .removed: .dim
        }
    }
}
