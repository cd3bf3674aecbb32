/// A disabled check of the compiler has its reason on the same line or directly above.
enum EscapeRule {
    static let escapes = ["@unchecked", "nonisolated(unsafe)", "try!", "as!"]

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, file.isInSources else { return [] }
        let lines = file.scanned
        let present = file.present(escapes)
        return lines.indices.compactMap { index in
            guard let escape = present.first(where: { lines[index].code.containsWord($0) }),
                !hasReason(lines, at: index)
            else { return nil }
            return Finding(file.path, line: index + 1, "\(escape) without a comment with the reason")
        }
    }

    /// Attributes may stand between a declaration and its comment.
    private static func hasReason(_ lines: [ScannedLine], at index: Int) -> Bool {
        if !lines[index].comment.isEmpty { return true }
        let above = lines[..<index].last { $0.code.drop { $0 == " " }.first != "@" }
        return above?.comment.isEmpty == false
    }
}
