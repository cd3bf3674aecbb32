/// Every row of Specs/hostile.md has a test, or a target of the Makefile, that has the row in its name: `Row 7: …`,
/// `row 27 …`, or `(row 30)` behind the target.
enum HostileRowRule {
    static func findings(in tree: SourceTree) -> [Finding] {
        let rows = RequirementRule.clauses(in: tree).filter { $0.path == RequirementRule.hostile }
        let named = tree.files.filter { $0.components.first == "Tests" && $0.module(under: "Tests") != "HouseTests" }
            .reduce(into: Set<String>()) { $0.formUnion(names(in: $1)) }
        return rows.filter { !named.contains($0.name) && !isTarget($0.name, in: tree) }.map {
            Finding($0.path, line: $0.line, "no test has \($0.name) in its name")
        }
    }

    private static func names(in file: SourceFile) -> [String] {
        guard file.isSwift else { return [] }
        return file.lines.flatMap { line -> [String] in
            guard line.contains("@Suite") || line.contains("@Test") || line.contains("func `") else { return [] }
            return line.matches(of: /\b[Rr]ow ([0-9]+)\b/).map { "row \($0.1)" }
        }
    }

    private static func isTarget(_ row: String, in tree: SourceTree) -> Bool {
        tree["Makefile"]?.lines.contains { $0.contains("## ") && $0.contains("(\(row))") } == true
    }
}
