/// A terminal's size in characters.
struct ScreenSize: Equatable, Sendable {
    var columns: Int
    var rows: Int

    /// What a terminal that does not say is taken to be.
    static let usual = ScreenSize(columns: 80, rows: 24)
}

/// What a screen shows: its rows, and where the cursor stands.
struct ScreenImage: Equatable, Sendable {
    var rows: [StyledLine]
    var cursorRow: Int
    var cursorColumn: Int
}
