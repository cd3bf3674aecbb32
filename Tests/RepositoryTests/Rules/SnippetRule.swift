/// The tests compile the Swift code of the README and of the guide to the life cycle, and the package Examples that of
/// the tutorials.
///
/// A marker, `<!-- snippet: path -->`, stands above the block. The file at that path contains the same lines between
/// `// snippet:begin` and `// snippet:end`, with any indentation.
enum SnippetRule {
    private static let documents: Set<String> = ["README.md", "Guides/lifecycle.md"]
    private static let tutorials = "Guides/tutorials/"

    static func findings(in tree: SourceTree) -> [Finding] {
        tree.files.filter { documents.contains($0.path) || $0.path.hasPrefix(tutorials) }
            .flatMap { findings(in: $0, of: tree) }
    }

    private static func findings(in readme: SourceFile, of tree: SourceTree) -> [Finding] {
        var findings: [Finding] = []
        var marker: String?
        for (index, line) in readme.lines.enumerated() {
            if let match = line.wholeMatch(of: /<!-- snippet: (\S+) -->/) {
                marker = String(match.1)
            } else if line == "```swift" {
                let shown = readme.lines[(index + 1)...].prefix { $0 != "```" }
                if let problem = problem(marker, shown: Array(shown), tree) {
                    findings.append(Finding(readme.path, line: index + 1, problem))
                }
                marker = nil
            } else if let unused = marker, !line.isEmpty {
                findings.append(
                    Finding(readme.path, line: index + 1, "no block of Swift after the marker of \(unused)"))
                marker = nil
            }
        }
        if let marker { findings.append(Finding(readme.path, "no block of Swift after the marker of \(marker)")) }
        return findings
    }

    private static func problem(_ marker: String?, shown: [Substring], _ tree: SourceTree) -> String? {
        guard let marker else { return "a block of Swift without a marker of the test that compiles it" }
        guard let file = tree[marker] else { return "the snippet's file \(marker) does not exist" }
        guard let compiled = region(of: file) else { return "\(marker) has no region of a snippet" }
        return compiled == shown ? nil : "the block differs from the region in \(marker)"
    }

    /// The lines between the marks, without their common indentation.
    static func region(of file: SourceFile) -> [Substring]? {
        func mark(_ name: String) -> Int? {
            file.lines.firstIndex { $0.drop { $0 == " " } == "// snippet:" + name }
        }
        guard let begin = mark("begin"), let end = mark("end"), begin < end else { return nil }
        let region = file.lines[(begin + 1)..<end]
        let indentation = region.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return region.map { $0.dropFirst(indentation) }
    }
}
