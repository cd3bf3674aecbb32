/// The size of a terminal in characters.
package struct ScreenSize: Equatable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }

    /// The size of a terminal that does not report one.
    package static let usual = ScreenSize(columns: 80, rows: 24)
}

/// The contents of a screen: its rows, and the position of the cursor.
package struct ScreenImage: Equatable, Sendable {
    package var rows: [StyledLine]
    package var cursorRow: Int
    package var cursorColumn: Int

    package init(rows: [StyledLine], cursorRow: Int, cursorColumn: Int) {
        self.rows = rows
        self.cursorRow = cursorRow
        self.cursorColumn = cursorColumn
    }
}
