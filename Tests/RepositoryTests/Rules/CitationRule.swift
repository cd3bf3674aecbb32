/// Citations of the specifications in code, documents and vectors name existing places.
///
/// A citation has the form "Specs/wire.md §3.2", "Specs/hostile.md row 7", or "W-12" for a clause of a normative
/// document.
enum CitationRule {
    static func findings(in tree: SourceTree) -> [Finding] {
        let clauses = Set(RequirementRule.clauses(in: tree).map(\.name))
        let citing = tree.files.filter {
            ["swift", "md", "json", "py", "c", "h"].contains($0.pathExtension)
                && $0.module(under: "Tests") != "RepositoryTests"
        }
        return citing.flatMap { file in
            file.lines.enumerated().flatMap { index, line -> [Finding] in
                let missing = missingPlaces(in: line, tree) + missingClauses(in: line, clauses)
                return missing.map { Finding(file.path, line: index + 1, "cites \($0), which does not exist") }
            }
        }
    }

    private static func missingPlaces(in line: Substring, _ tree: SourceTree) -> [String] {
        guard line.contains("Specs/") else { return [] }
        let citation = /(Specs\/[\w\/.-]+\.md)(?: §([0-9]+(?:\.[0-9]+)*)| row ([0-9]+))?/
        return line.matches(of: citation).compactMap { match in
            guard let document = tree[String(match.1)] else { return String(match.1) }
            if let section = match.2, !hasSection(document, section) { return "§\(section) of \(match.1)" }
            if let row = match.3, !document.lines.contains(where: { $0.hasPrefix("| \(row) |") }) {
                return "row \(row) of \(match.1)"
            }
            return nil
        }
    }

    private static func missingClauses(in line: Substring, _ clauses: Set<String>) -> [String] {
        guard RequirementRule.documents.keys.contains(where: { line.contains($0 + "-") }) else { return [] }
        return line.matches(of: /\b[CMRSW]-[0-9]+\b/).map { String($0.0) }.filter { !clauses.contains($0) }
    }

    private static func hasSection(_ document: SourceFile, _ number: Substring) -> Bool {
        document.lines.contains { line in
            line.hasPrefix("#") && line.drop { $0 == "#" || $0 == " " }.hasPrefix(number + " ")
        }
    }
}
