import MartletToolSupport
import MartletWire

/// The layout of a conversation: a title row, the visible entries, a status row and the line that the user is typing.
enum ChatScreen {
    private static let minimumSize = ScreenSize(columns: 20, rows: 4)
    /// The maximum number of columns of a name. Longer ones are cut.
    private static let maxNameColumnCount = 14

    /// Returns the screen for a model and a size, at least the minimum size.
    static func image(of model: ChatModel, size: ScreenSize) -> ScreenImage {
        let columns = max(size.columns, minimumSize.columns)
        let rows = max(size.rows, minimumSize.rows)
        let input = inputRow(of: model, columns: columns)
        var image = [title(of: model, columns: columns)]
        image += conversation(of: model, columns: columns, rows: rows - 3)
        image += [status(of: model, columns: columns), input.row]
        return ScreenImage(rows: image, cursorRow: rows - 1, cursorColumn: input.cursor)
    }

    /// Returns the maximum number of rows by which the conversation can be scrolled back.
    static func scrollableRowCount(of model: ChatModel, size: ScreenSize) -> Int {
        let columns = max(size.columns, minimumSize.columns)
        let all = model.entries.reduce(0) { $0 + rows(of: $1, in: model, columns: columns).count }
        return max(all - (max(size.rows, minimumSize.rows) - 3), 0)
    }

    private static func title(of model: ChatModel, columns: Int) -> StyledLine {
        let names = model.others.map { SafeText.line($0.name.text) + ($0.presence == .away ? " (away)" : "") }
        let members = names.isEmpty ? "no other members" : "with " + names.joined(separator: ", ")
        return StyledLine(" \(SafeText.line(model.room.text))  \u{2502}  \(members)", .inverse).padded(
            to: columns, .inverse)
    }

    private static func status(of model: ChatModel, columns: Int) -> StyledLine {
        var line = StyledLine(" \u{25CF} ", model.health == .good ? .green : model.health == .waiting ? .yellow : .red)
        line.append(SafeText.line(model.connectionText), .dim)
        if model.scrolledRowCount > 0 { line.append("  \u{2193} \(model.scrolledRowCount) more rows", .yellow) }
        let names = model.typing.sorted().map { SafeText.line($0.text) }
        if !names.isEmpty {
            let verb = names.count == 1 ? "is" : "are"
            line.append("  \(names.prefix(3).joined(separator: ", ")) \(verb) typing\u{2026}", .cyan)
        }
        return line.clipped(to: columns)
    }

    private static func inputRow(of model: ChatModel, columns: Int) -> (row: StyledLine, cursor: Int) {
        let prompt = "> "
        let shown = model.editor.characters.map { SafeText.line(String($0)) }
        let room = columns - prompt.count - 1
        let before = shown.prefix(model.editor.cursor)
        // The text before the cursor is always visible at its end.
        var start = before.count
        var width = 0
        while start > 0, width + DisplayWidth.of(before[start - 1]) <= room {
            start -= 1
            width += DisplayWidth.of(before[start])
        }
        var row = StyledLine(prompt, .bold)
        row.append(shown[start...].joined())
        return (row.clipped(to: columns - 1), prompt.count + width)
    }

    /// Returns the visible rows of the conversation, the newest ones at the bottom unless it is scrolled back.
    private static func conversation(of model: ChatModel, columns: Int, rows count: Int) -> [StyledLine] {
        var collected: [StyledLine] = []
        let wanted = count + model.scrolledRowCount
        for entry in model.entries.reversed() where collected.count < wanted {
            collected += rows(of: entry, in: model, columns: columns).reversed()
        }
        let visible = collected.prefix(wanted).suffix(count).reversed()
        return Array(repeating: StyledLine(), count: count - visible.count) + visible
    }

    private static func rows(of entry: ChatModel.Entry, in model: ChatModel, columns: Int) -> [StyledLine] {
        switch entry {
        case .notice(let text):
            return SafeText.lines(text).flatMap { wrap($0, columns: columns - 2) }.map { StyledLine("  \($0)", .dim) }
        case .message(let sender, let label, let text, let clock, _, let mark, _):
            let isOwn = sender == model.account
            let name = DisplayWidth.prefix(of: isOwn ? "you" : SafeText.line(sender.text), columns: maxNameColumnCount)
            let indent = clock.count + 1 + DisplayWidth.of(name) + 2
            let shown = SafeText.lines(MessageParts(label: label, text: text).shown)
            var lines = shown.flatMap { wrap($0, columns: max(columns - indent, 10)) }.map { StyledLine($0) }
            if let mark { add(mark, to: &lines, columns: columns - indent) }
            return lines.enumerated().map { index, line in
                var row = StyledLine()
                if index == 0 {
                    row.append("\(clock) ", .dim)
                    row.append("\(name)  ", isOwn ? .bold : Style.color(of: sender.text))
                } else {
                    row.append(String(repeating: " ", count: indent))
                }
                for piece in line.pieces { row.append(piece.text, piece.style) }
                return row.clipped(to: columns)
            }
        }
    }

    /// Appends a mark to the last row if it fits, otherwise as a new row.
    private static func add(_ mark: DeliveryMark, to lines: inout [StyledLine], columns: Int) {
        let text = SafeText.line(mark.text)
        let last = lines.count - 1
        if lines[last].width + 1 + DisplayWidth.of(text) <= columns {
            lines[last].append(" \(text)", mark.style)
        } else {
            lines.append(StyledLine(text, mark.style))
        }
    }

    /// Returns the text in rows of at most `columns`, broken at blanks if there are any.
    static func wrap(_ text: String, columns: Int) -> [String] {
        var rows: [String] = []
        var rest = text[...]
        while DisplayWidth.of(rest) > columns {
            var row = DisplayWidth.prefix(of: rest, columns: columns)
            if row.isEmpty { row = rest.prefix(1) }
            if rest[row.endIndex] != " ", let blank = row.lastIndex(of: " "), blank > row.startIndex {
                row = row[..<blank]
            }
            rows.append(String(row))
            rest = rest[row.endIndex...].drop { $0 == " " }
        }
        return rows + (rest.isEmpty && !rows.isEmpty ? [] : [String(rest)])
    }
}
