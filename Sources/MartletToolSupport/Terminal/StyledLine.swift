/// The style of a piece of text on a terminal.
package enum Style: String, Sendable {
    case plain = ""
    case bold = "1"
    case dim = "2"
    case inverse = "7"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"

    /// Whether it is a colour alone.
    package var isColour: Bool {
        switch self {
        case .plain, .bold, .dim, .inverse: false
        case .red, .green, .yellow, .blue, .magenta, .cyan: true
        }
    }

    /// The colours that people's names take.
    package static let nameColours: [Style] = [.cyan, .green, .yellow, .magenta, .blue]

    /// A name's colour: always the same for the same name.
    package static func colour(of name: String) -> Style {
        let sum = name.utf8.reduce(UInt32(5381)) { ($0 &* 33) &+ UInt32($1) }
        return nameColours[Int(sum) % nameColours.count]
    }
}

/// One row of a screen: pieces of text, each in its style.
package struct StyledLine: Equatable, Sendable {
    /// A piece of text without control characters.
    package struct Piece: Equatable, Sendable {
        package var text: String
        package var style: Style
    }

    package private(set) var pieces: [Piece] = []

    /// An empty row, or one with a single piece.
    package init(_ text: String = "", _ style: Style = .plain) {
        append(text, style)
    }

    /// Adds a piece at the end.
    package mutating func append(_ text: String, _ style: Style = .plain) {
        if !text.isEmpty { pieces.append(Piece(text: text, style: style)) }
    }

    /// The columns the row takes.
    package var width: Int { pieces.reduce(0) { $0 + DisplayWidth.of($1.text) } }

    /// The row without its styles.
    package var text: String { pieces.map(\.text).joined() }

    /// As much of the row as fits into `columns`.
    package func clipped(to columns: Int) -> StyledLine {
        var clipped = StyledLine()
        var left = columns
        for piece in pieces where left > 0 {
            let text = DisplayWidth.prefix(of: piece.text, columns: left)
            clipped.append(String(text), piece.style)
            left -= text.endIndex == piece.text.endIndex ? DisplayWidth.of(text) : left
        }
        return clipped
    }

    /// The row filled up to `columns` with blanks.
    package func padded(to columns: Int, _ style: Style = .plain) -> StyledLine {
        var padded = clipped(to: columns)
        padded.append(String(repeating: " ", count: max(columns - padded.width, 0)), style)
        return padded
    }

    /// The row with the sequences that a terminal understands (ECMA-48 §8.3.117), those for colours only if wanted.
    package func sequences(showsColours: Bool) -> String {
        pieces.map { piece in
            if piece.style == .plain || piece.style.isColour && !showsColours { return piece.text }
            return "\u{1B}[\(piece.style.rawValue)m\(piece.text)\u{1B}[0m"
        }
        .joined()
    }
}
