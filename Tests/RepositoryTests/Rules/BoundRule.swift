/// The page of bounds lists each constant whose name begins with `max`, with the file that declares it.
///
/// `Scripts/generate-bounds` writes the page. This rule fails without Python, for example in `swift test`.
enum BoundRule {
    static let page = "Guides/bounds.md"
    static func findings(in tree: SourceTree) -> [Finding] {
        guard let page = tree[page] else { return [Finding(page, "does not exist")] }
        var listed: Set<Row> = []
        var findings: [Finding] = []
        let row = /^\| `([\w.]+)` \|.*\]\(\.\.\/(Sources\/[^)]+)\) \|$/
        for (index, line) in page.lines.enumerated() {
            guard let match = line.firstMatch(of: row) else { continue }
            let name = match.1.split(separator: ".").last ?? match.1
            let path = String(match.2)
            listed.insert(Row(name: name, path: path))
            if tree[path]?.declares(name) != true {
                findings.append(Finding(page.path, line: index + 1, "\(path) does not declare \(name)"))
            }
        }
        let constant = /^ +[a-z ]*static let (max[A-Z]\w*)(: \w+)? = [\d(]/
        for file in tree.swiftFiles where file.path.hasPrefix("Sources/") {
            for (index, line) in file.scanned.enumerated() {
                guard let match = line.code.firstMatch(of: constant),
                    !listed.contains(Row(name: match.1, path: file.path))
                else {
                    continue
                }
                findings.append(Finding(file.path, line: index + 1, "\(page.path) does not list \(match.1)"))
            }
        }
        return findings
    }

    private struct Row: Hashable {
        var name: Substring
        var path: String
    }
}

extension SourceFile {
    fileprivate func declares(_ name: Substring) -> Bool {
        ["let \(name)", "var \(name)", "\(name) ="].contains { text.containsWord($0) }
    }
}
