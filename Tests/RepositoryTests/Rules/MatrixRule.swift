/// Every case of the table of security cases has its test.
///
/// The last column names the test, as `File/name of the test`.
enum MatrixRule {
    static let path = "Specs/security-matrix.md"
    /// The minimum number of cases.
    static let minCount = 60

    static func findings(in tree: SourceTree) -> [Finding] {
        var count = 0
        var findings: [Finding] = []
        for (index, line) in (tree[path]?.lines ?? []).enumerated() {
            guard let number = line.firstMatch(of: /^\| ([0-9]+) \|/)?.1 else { continue }
            count += 1
            if Int(number) != count { findings.append(Finding(path, line: index + 1, "is not case \(count)")) }
            guard let match = line.firstMatch(of: /\| `([^`\/]+)\/([^`]+)` \|$/) else {
                findings.append(Finding(path, line: index + 1, "names no test"))
                continue
            }
            guard !isTest(match.2, in: match.1, of: tree) else { continue }
            findings.append(Finding(path, line: index + 1, "there is no test \(match.1)/\(match.2)"))
        }
        return count < minCount ? findings + [Finding(path, "has \(count) cases")] : findings
    }

    private static func isTest(_ name: Substring, in stem: Substring, of tree: SourceTree) -> Bool {
        tree.swiftFiles.contains { file in
            file.stem == stem && file.isInTests
                && (file.text.contains("func `\(name)`") || file.text.contains("\"\(name)\""))
        }
    }
}
