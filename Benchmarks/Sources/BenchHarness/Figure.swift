import Foundation

/// Numbers formatted for people.
public enum Figure {
    /// A value with three significant digits and grouped thousands.
    public static func text(_ value: Double) -> String {
        if value == 0 { return "0" }
        let size = abs(value)
        if size >= 1000 { return grouped(value.rounded()) }
        return String(format: size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.3f", value)
    }

    private static func grouped(_ value: Double) -> String {
        let digits = Array(String(Int(abs(value))))
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result += "," }
            result.append(digit)
        }
        return (value < 0 ? "-" : "") + result
    }

    /// A share in percent.
    public static func percent(_ share: Double) -> String {
        "±" + String(format: share < 0.1 ? "%.1f" : "%.0f", share * 100) + " %"
    }
}

/// A table with aligned columns.
public struct TextTable {
    private var rows: [[String]]

    /// Creates a table with a heading.
    public init(_ heading: [String]) {
        rows = [heading]
    }

    /// Adds a row.
    public mutating func add(_ row: [String]) {
        rows.append(row)
    }

    /// The table with its first column left-aligned and the others right-aligned.
    public var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        var lines = rows.map { row in
            row.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + blanks : blanks + cell
            }
            .joined(separator: "  ")
        }
        lines.insert(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  "), at: 1)
        return lines.joined(separator: "\n")
    }
}
