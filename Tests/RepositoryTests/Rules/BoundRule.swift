/// The bounds in the table of ARCHITECTURE.md are declared in the code.
enum BoundRule {
    static func findings(in tree: SourceTree) -> [Finding] {
        guard let text = tree["ARCHITECTURE.md"] else { return [Finding("ARCHITECTURE.md", "does not exist")] }
        let sources = tree.swiftFiles.filter(\.isInSources)
        return text.lines.enumerated().compactMap { index, line in
            guard let match = line.firstMatch(of: /^\| `([\w.]*?)(\w+)\.(\w+)` \|/) else { return nil }
            let type = String(match.2)
            let declared = sources.contains { file in
                file.text.containsWord(type)
                    && (file.text.containsWord("let \(match.3)") || file.text.containsWord("var \(match.3)"))
            }
            return declared ? nil : Finding(text.path, line: index + 1, "no \(type) declares \(match.3)")
        }
    }
}
