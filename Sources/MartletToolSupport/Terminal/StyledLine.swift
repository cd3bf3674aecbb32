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

    /// Whether the style is only a color.
    package var isColor: Bool {
        switch self {
        case .plain, .bold, .dim, .inverse: false
        case .red, .green, .yellow, .blue, .magenta, .cyan: true
        }
    }

    /// The colors of names.
    package static let nameColors: [Style] = [.cyan, .green, .yellow, .magenta, .blue]

    /// Returns the color of a name, which is always the same.
    package static func color(of name: String) -> Style {
        let sum = name.utf8.reduce(UInt32(5381)) { ($0 &* 33) &+ UInt32($1) }
        return nameColors[Int(sum) % nameColors.count]
    }
}

/// A row of a screen: pieces of text with styles.
package struct StyledLine: Equatable, Sendable {
    /// A piece of text without control characters.
    package struct Piece: Equatable, Sendable {
        package var text: String
        package var style: Style
    }

    package private(set) var pieces: [Piece] = []

    /// Creates a row with one piece, or an empty row.
    package init(_ text: String = "", _ style: Style = .plain) {
        append(text, style)
    }

    /// Appends a piece.
    package mutating func append(_ text: String, _ style: Style = .plain) {
        if !text.isEmpty { pieces.append(Piece(text: text, style: style)) }
    }

    /// The number of columns of the row.
    package var width: Int { pieces.reduce(0) { $0 + DisplayWidth.of($1.text) } }

    /// The text of the row without styles.
    package var text: String { pieces.map(\.text).joined() }

    /// Returns the part of the row that fits into `columns`.
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

    /// Returns the row, filled with blanks to `columns`.
    package func padded(to columns: Int, _ style: Style = .plain) -> StyledLine {
        var padded = clipped(to: columns)
        padded.append(String(repeating: " ", count: max(columns - padded.width, 0)), style)
        return padded
    }

    /// Returns the row with terminal sequences (ECMA-48 §8.3.117), without colors if `showsColors` is false.
    package func sequences(showsColors: Bool) -> String {
        pieces.map { piece in
            if piece.style == .plain || piece.style.isColor && !showsColors { return piece.text }
            return "\u{1B}[\(piece.style.rawValue)m\(piece.text)\u{1B}[0m"
        }
        .joined()
    }
}
