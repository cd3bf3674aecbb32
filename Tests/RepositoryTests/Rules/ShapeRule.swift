/// The limit of a line's width, and the names of files.
enum ShapeRule {
    static let maxColumnCount = 120

    /// Unspecific endings of names.
    private static let emptyNames = [
        "util", "utils", "utilities", "helper", "helpers", "manager", "managers", "misc", "common",
    ]
    private static let staleFolders = ["new", "old", "deprecated", "legacy"]

    static func findings(in file: SourceFile) -> [Finding] {
        findingsOfWidth(in: file) + findingsOfName(of: file)
    }

    /// A row of a table in Markdown or in a comment, an object of JSON on its own line, an input of a fuzz target and
    /// an address cannot be broken.
    private static func findingsOfWidth(in file: SourceFile) -> [Finding] {
        file.lines.enumerated().flatMap { index, line in
            var findings: [Finding] = []
            let start = line.drop { $0 == " " || $0 == "/" }
            let isObject = file.pathExtension == "json" && start.hasPrefix("{")
            let isInput = file.pathExtension == "hex"
            let unbreakable = start.hasPrefix("|") || isObject || isInput || line.contains("https://")
            if !unbreakable, line.utf8.count > maxColumnCount, line.count > maxColumnCount {
                findings.append(Finding(file.path, line: index + 1, "wider than \(maxColumnCount) columns"))
            }
            if line.last == " " || line.last == "\t" {
                findings.append(Finding(file.path, line: index + 1, "blanks at the end of the line"))
            }
            return findings
        }
    }

    private static func findingsOfName(of file: SourceFile) -> [Finding] {
        var findings: [Finding] = []
        var stem = file.stem
        if stem.hasSuffix("Tests") { stem.removeLast("Tests".count) }
        if file.isSwift, let empty = emptyNames.first(where: { stem.lowercased().hasSuffix($0) }) {
            findings.append(Finding(file.path, "a name that ends in \(empty) is unspecific"))
        }
        for folder in file.components.dropLast() where staleFolders.contains(folder.lowercased()) {
            findings.append(Finding(file.path, "the name of the folder \(folder) does not describe its contents"))
        }
        if file.path.contains(" ") { findings.append(Finding(file.path, "a blank in the path")) }
        return findings
    }
}
