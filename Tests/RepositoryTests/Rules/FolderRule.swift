/// The table of folders in ARCHITECTURE.md names each folder of a module that has files of Swift, and no other one.
///
/// A cell names the first folder with its module, `Module/Folder`, and further ones of this module without it. Modules
/// whose files have no folders are in the table of modules only.
enum FolderRule {
    static let page = "ARCHITECTURE.md"

    static func findings(in tree: SourceTree) -> [Finding] {
        guard let page = tree[page] else { return [Finding(page, "does not exist")] }
        var existing = Set(tree.swiftFiles.compactMap { folder(of: $0) })
        var findings: [Finding] = []
        for (index, line) in page.lines.enumerated() where line.hasPrefix("| `Martlet") {
            var module: Substring = ""
            let cell = line.dropFirst(2).prefix { $0 != "|" }
            for match in cell.matches(of: /`([\w\/]+)`/) {
                var path = match.1
                if let first = path.split(separator: "/").first, first.hasPrefix("Martlet") { module = first }
                if !path.hasPrefix(module) { path = "\(module)/\(path)" }
                guard path.contains("/") else { continue }
                if existing.remove(String(path)) == nil {
                    findings.append(Finding(page.path, line: index + 1, "\(path) has no files, or is named twice"))
                }
            }
        }
        return findings + existing.sorted().map { Finding(page.path, "does not name \($0)") }
    }

    /// The folder of a file in a module, from the module on; nil for files outside of folders.
    private static func folder(of file: SourceFile) -> String? {
        let folders = file.components.dropLast()
        return folders.first == "Sources" && folders.count > 2 ? folders.dropFirst().joined(separator: "/") : nil
    }
}
