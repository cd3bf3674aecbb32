/// Each fault that `make bugs` plants changes a member, and breaks an invariant of the simulator. If it names a test,
/// the test exists. `Dev/Scripts/planted-bugs --check` checks its place in the code.
enum PlantedBugRule {
    static let folder = "Dev/PlantedBugs/"
    static let invariants = "Dev/Sources/MartletSimulator/Invariants/Violation.swift"
    /// The minimum number of faults in the lists.
    static let minCount = 90

    static func findings(in tree: SourceTree) -> [Finding] {
        var findings: [Finding] = []
        var names: Set<Substring> = []
        for path in tree.paths.sorted() where path.hasPrefix(folder) && path.hasSuffix(".txt") {
            for (index, line) in (tree[path]?.lines ?? []).enumerated() {
                if line.hasPrefix("## ") {
                    let name = line.dropFirst(3).prefix { $0 != ":" }
                    guard !names.insert(name).inserted else { continue }
                    findings.append(Finding(path, line: index + 1, "\(name) is defined twice"))
                } else if let fault = fault(of: line, in: tree) {
                    findings.append(Finding(path, line: index + 1, fault))
                }
            }
        }
        if names.count < minCount { findings.append(Finding(folder, "has \(names.count) faults")) }
        return findings
    }

    /// The fault of a line that names an invariant or a test; nil if there is none.
    private static func fault(of line: Substring, in tree: SourceTree) -> String? {
        if line.hasPrefix("breaks: ") {
            let isDeclared = tree[invariants]?.text.contains("\"\(line.dropFirst(8))\"") == true
            return isDeclared ? nil : "there is no invariant \(line.dropFirst(8))"
        }
        guard line.hasPrefix("test: "), !isTest(line.dropFirst(6), in: tree) else { return nil }
        return "there is no test \(line.dropFirst(6))"
    }

    /// Whether a test exists. Its name is that of its suite, a slash, and its own.
    private static func isTest(_ name: Substring, in tree: SourceTree) -> Bool {
        let parts = name.split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return false }
        return tree.swiftFiles.contains { file in
            file.text.contains("struct \(parts[0]) ") && file.text.contains(" func `\(parts[1])`(")
        }
    }
}
