/// Each fault that `make bugs` plants has exactly one place in the code, and breaks an invariant of the simulator. If
/// it names a test, the test exists.
enum PlantedBugRule {
    static let folder = "Dev/PlantedBugs/"
    static let invariants = [
        "Dev/Sources/MartletSimulator/Simulation/Violation.swift",
        "Dev/Sources/MartletSimulator/Lives/BrokenPromise.swift",
    ]
    /// The minimum number of faults in the lists.
    static let minCount = 90

    /// A change of a file by a fault: an expression within a line, or whole lines.
    private struct Edit {
        var list: String
        var line: Int
        var file: String
        var context: String?
        var going: [String] = []
    }

    static func findings(in tree: SourceTree) -> [Finding] {
        var findings: [Finding] = []
        var names: Set<Substring> = []
        var edits: [Edit] = []
        for path in tree.paths.sorted() where path.hasPrefix(folder) && path.hasSuffix(".txt") {
            for (index, line) in (tree[path]?.lines ?? []).enumerated() {
                if line.hasPrefix("## ") {
                    let name = line.dropFirst(3).prefix { $0 != ":" }
                    guard !names.insert(name).inserted else { continue }
                    findings.append(Finding(path, line: index + 1, "\(name) is defined twice"))
                } else if let fault = fault(of: line, in: tree) {
                    findings.append(Finding(path, line: index + 1, fault))
                } else if line.hasPrefix("file: ") {
                    edits.append(Edit(list: path, line: index, file: String(line.dropFirst(6))))
                } else if line.hasPrefix("old: "), !edits.isEmpty {
                    edits[edits.count - 1].context = String(line.dropFirst(5))
                } else if line.hasPrefix("- "), !edits.isEmpty {
                    edits[edits.count - 1].going.append(String(line.dropFirst(2)))
                }
            }
        }
        if names.count < minCount { findings.append(Finding(folder, "has \(names.count) faults")) }
        return findings + edits.compactMap { finding(of: $0, in: tree) }
    }

    /// The fault of a line that names an invariant or a test; nil if there is none.
    private static func fault(of line: Substring, in tree: SourceTree) -> String? {
        if line.hasPrefix("breaks: ") {
            let isDeclared = invariants.contains { tree[$0]?.text.contains("\"\(line.dropFirst(8))\"") == true }
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

    private static func finding(of edit: Edit, in tree: SourceTree) -> Finding? {
        guard let file = tree[edit.file] else { return at(edit, "\(edit.file) does not exist") }
        let count: Int
        if let context = edit.context {
            let text = context.replacing("[[", with: "").replacing("]]", with: "")
            guard context.contains("[["), context.contains("]]") else { return at(edit, "marks no expression") }
            count = file.text.ranges(of: text).count
        } else {
            let lines = file.lines.map { $0.drop { $0 == " " } }
            let going = edit.going.map { $0[...] }
            guard !going.isEmpty else { return at(edit, "changes nothing") }
            count = lines.indices.count { lines[$0...].starts(with: going) }
        }
        return count == 1 ? nil : at(edit, "\(edit.file) contains the replaced code \(count) times")
    }

    private static func at(_ edit: Edit, _ message: String) -> Finding {
        Finding(edit.list, line: edit.line + 1, message)
    }
}
