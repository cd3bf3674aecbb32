/// Every fault that `make bugs` plants still has its place in the code, exactly one, and breaks a promise that the
/// simulator watches.
enum PlantedBugRule {
    static let list = "Tests/PlantedBugs/bugs.txt"
    static let ledger = "Sources/MartletTestKit/Simulation/Ledger.swift"
    /// Faults that the list has at the least.
    static let minCount = 20

    /// One place where a fault changes a file: an expression within a line, or whole lines.
    private struct Edit {
        var line: Int
        var file: String
        var context: String?
        var going: [String] = []
    }

    static func findings(in tree: SourceTree) -> [Finding] {
        guard let list = tree[Self.list] else { return [Finding(Self.list, "is not there")] }
        var findings: [Finding] = []
        var names: Set<Substring> = []
        var edits: [Edit] = []
        for (index, line) in list.lines.enumerated() {
            if line.hasPrefix("## ") {
                let name = line.dropFirst(3).prefix { $0 != ":" }
                if !names.insert(name).inserted { findings.append(at(index, "there are two of \(name)")) }
            } else if line.hasPrefix("breaks: "), tree[ledger]?.text.contains("\"\(line.dropFirst(8))\"") != true {
                findings.append(at(index, "nobody promises: \(line.dropFirst(8))"))
            } else if line.hasPrefix("file: ") {
                edits.append(Edit(line: index, file: String(line.dropFirst(6))))
            } else if line.hasPrefix("old: "), !edits.isEmpty {
                edits[edits.count - 1].context = String(line.dropFirst(5))
            } else if line.hasPrefix("- "), !edits.isEmpty {
                edits[edits.count - 1].going.append(String(line.dropFirst(2)))
            }
        }
        if names.count < minCount { findings.append(Finding(Self.list, "has \(names.count) faults")) }
        return findings + edits.compactMap { finding(of: $0, in: tree) }
    }

    private static func finding(of edit: Edit, in tree: SourceTree) -> Finding? {
        guard let file = tree[edit.file] else { return at(edit.line, "\(edit.file) is not there") }
        let count: Int
        if let context = edit.context {
            let text = context.replacing("[[", with: "").replacing("]]", with: "")
            guard context.contains("[["), context.contains("]]") else { return at(edit.line, "marks no expression") }
            count = file.text.ranges(of: text).count
        } else {
            let lines = file.lines.map { $0.drop { $0 == " " } }
            let going = edit.going.map { $0[...] }
            guard !going.isEmpty else { return at(edit.line, "changes nothing") }
            count = lines.indices.count { lines[$0...].starts(with: going) }
        }
        return count == 1 ? nil : at(edit.line, "\(edit.file) has what goes here \(count) times")
    }

    private static func at(_ index: Int, _ message: String) -> Finding {
        Finding(list, line: index + 1, message)
    }
}
